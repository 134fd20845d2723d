import { openReader, serialsIn } from "./barcode.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, errorText, pushButton, sentence } from "../kit/dom.js";
import { keepScanned } from "./scanned.js";

/**
 * The scanner: a document with the camera's picture that looks for the code of a nameplate and passes the number on to the set-up. It is a
 * separate document because only this one may open a camera and compile the library's WebAssembly.
 */

/** Interval between two pictures that are read; the phone has to show the video, too. */
const LOOK_EVERY_MS = 120;
const CAMERA = { video: { facingMode: "environment", width: { ideal: 1_280 }, height: { ideal: 720 } } };

const said = el("p", { role: "status", className: "advice" }, t("scan.starting"));
const found = el("div", {});
const video = /** @type {HTMLVideoElement} */ (
  el("video", { className: "viewfinder", playsInline: true, muted: true, "aria-label": t("scan.picture") })
);
const file = /** @type {HTMLInputElement} */ (
  el("input", { type: "file", accept: "image/*", capture: "environment", hidden: true, "aria-label": t("scan.photo") })
);

/** Keeps a scanned serial number and leaves the scanner. @param {string} serial */
function take(serial) {
  keepScanned(serial);
  leave();
}

function leave() {
  location.replace("/#/setup");
}

/** Uses a single serial number at once. Lets the person choose among several. @param {readonly string[]} serials */
function show(serials) {
  const [only, ...others] = serials;
  if (only !== undefined && others.length === 0) {
    take(only);
    return;
  }
  said.replaceChildren(t("scan.several"));
  found.replaceChildren(
    buttonRow(...serials.map((serial) => pushButton(serial, () => take(serial), { className: "main" }))),
  );
}

/** Returns the message for a camera that can't be used. @param {unknown} error */
function cameraTrouble(error) {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError") return t("scan.denied");
  return name === "NotFoundError" || navigator.mediaDevices === undefined ? t("scan.noCamera") : t("scan.trouble");
}

/** Opens the camera and reads its pictures until a serial number is found. @param {import("./barcode.js").Reader} read */
async function look(read) {
  const stream = await navigator.mediaDevices.getUserMedia(CAMERA);
  addEventListener("pagehide", () => stream.getTracks().forEach((track) => track.stop()));
  video.srcObject = stream;
  await video.play();
  said.replaceChildren(t("scan.aim"));
  for (;;) {
    const serials = serialsIn(await read(video, { width: video.videoWidth, height: video.videoHeight }));
    if (serials.length > 0) {
      show(serials);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Reads the serial numbers in the photo that the person has chosen. @param {import("./barcode.js").Reader} read */
async function readPhoto(read) {
  const [photo] = file.files ?? [];
  if (photo === undefined) return;
  const serials = await createImageBitmap(photo)
    .then((image) => read(image, image))
    .then(serialsIn, () => []);
  file.value = "";
  if (serials.length === 0) said.replaceChildren(t("scan.noCode"));
  else show(serials);
}

async function main() {
  document.title = t("scan.title");
  document.getElementById("main")?.replaceChildren(
    el(
      "section",
      { className: "card", "aria-label": t("scan.title") },
      el("h1", {}, t("scan.title")),
      video,
      said,
      found,
      buttonRow(
        file,
        pushButton(t("scan.photo"), () => file.click()),
        pushButton(t("scan.type"), leave),
      ),
    ),
  );
  try {
    const read = await openReader();
    file.addEventListener("change", () => void readPhoto(read));
    await look(read).catch((error) => said.replaceChildren(cameraTrouble(error)));
  } catch (error) {
    said.replaceChildren(sentence(errorText(error)));
  }
}

void main();
