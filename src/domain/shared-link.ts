/** A physical link that the running agent holds and lends to tools for single reads. */
export interface LinkToShare {
  /** As people are told of it, e.g. "192.0.2.10:502". */
  readonly link: string;
  /** Unit ids that the agent itself reads there. */
  readonly units: readonly number[];
}

/** One read of a tool over a link that the agent holds. */
export interface PlcAsk {
  readonly unit: number;
  /** Of a Modbus function that reads (1 to 4, or 43/14), as the protocol has it. */
  readonly pdu: Uint8Array;
}

/** What a running agent lends to tools. */
export interface LinkSharer {
  readonly links: readonly LinkToShare[];
  /** One read over such a link: the answer's PDU. Rejects with a LinkError. */
  ask(link: string, ask: PlcAsk): Promise<Uint8Array>;
}
