const BAR_WIDTH = 30;

/** Progress on a terminal, 0 to 1: [######....] 60 % */
export function barText(share: number): string {
  const done = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `[${"#".repeat(done)}${".".repeat(BAR_WIDTH - done)}] ${Math.floor(share * 100).toString()} %`;
}

/** A length of time as people say it: 850 ms, 12 s, 4 min, 3 h 20 min, 5 d 2 h. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms).toString()} ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds.toString()} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes.toString()} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48)
    return minutes % 60 === 0 ? `${hours.toString()} h` : `${hours.toString()} h ${(minutes % 60).toString()} min`;
  return `${Math.floor(hours / 24).toString()} d ${(hours % 24).toString()} h`;
}
