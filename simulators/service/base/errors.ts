/** An error answer. The text is sent as `{error}`. */
export class HttpError extends Error {
  readonly status: number;
  /** Seconds after which a repeated request may succeed, sent as Retry-After. */
  readonly retry_after_s: number | undefined;

  constructor(status: number, message: string, retry_after_s?: number) {
    super(message);
    this.status = status;
    this.retry_after_s = retry_after_s;
  }
}

export function notFound(what: string): HttpError {
  return new HttpError(404, `${what} not found`);
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, message);
}
