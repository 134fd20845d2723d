import { explain, EXPLAINABLE } from "../report/explain.ts";
import { QueryError, windowParams } from "../wire/reports-query.ts";
import type { BoothAsk, Told } from "./report-request.ts";

/** The box's own operation beside the service's: where a figure comes from. Instants are epoch ms. */
export const EXPLAIN: Readonly<Record<string, (ask: BoothAsk) => Told>> = {
  explain({ source, query, clock }) {
    const figure = query["figure"] ?? "";
    const explanation = explain(source, figure, windowParams(query, clock));
    if (explanation === null) throw new QueryError(`figure is none of ${EXPLAINABLE.join(", ")}`);
    return { body: explanation };
  },
};
