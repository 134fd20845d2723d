/** Storage key of the last scanned serial number, which the scanner's document passes to the page. */
const KEY = "scanned";

/** Stores a scanned serial number for the set-up view. @param {string} serial */
export function keepScanned(serial) {
  sessionStorage.setItem(KEY, serial);
}

/** Returns the scanned serial number; null if nothing was scanned, or if the number has been used. */
export function scannedSerial() {
  return sessionStorage.getItem(KEY);
}

export function forgetScanned() {
  sessionStorage.removeItem(KEY);
}
