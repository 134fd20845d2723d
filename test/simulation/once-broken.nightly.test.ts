import { onceBroken } from "./once-broken.ts";

onceBroken("long");
