/** The serial number that was scanned last, on its way from one document to the other. */
const KEY = "scanned";

/** @param {string} serial */
export function keepScanned(serial) {
  sessionStorage.setItem(KEY, serial);
}

/** null: none was, or it has been used. */
export function scannedSerial() {
  return sessionStorage.getItem(KEY);
}

export function forgetScanned() {
  sessionStorage.removeItem(KEY);
}
