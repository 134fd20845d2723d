import type { BoothCard, ServiceRecord } from "./service.ts";

/** How a choice is named: by the service's id of the booth, or, where it shows none, by its place in the list. */
export function choiceName({ booth_id }: BoothCard, index: number): string {
  return booth_id ?? `#${(index + 1).toString()}`;
}

/** The record of the booth that somebody named, or of the one there is; null: nobody can tell yet which one it is. */
export function chosen(record: ServiceRecord, said: string | undefined): ServiceRecord | null {
  const { choices, ...rest } = record;
  if (choices === undefined) return said === undefined || said === record.booth_id ? record : null;
  const card = choices.cards.find((one, index) => said === choiceName(one, index));
  return card === undefined ? null : { ...rest, ...card };
}

/** The one that a person sees on the card when they confirm; undefined: there is none, or there are several. */
export function onlyChoice({ choices }: ServiceRecord): string | undefined {
  const [first, ...others] = choices?.cards ?? [];
  return first === undefined || others.length > 0 ? undefined : choiceName(first, 0);
}

/** Read again, a list goes on meaning the booth that was chosen of it; where that one can't be made out, what was known of it stays. */
export function chosenAgain(record: ServiceRecord, before: ServiceRecord | null): ServiceRecord {
  const { choices, ...rest } = record;
  if (choices === undefined || before === null) return record;
  const isSame = (card: BoothCard): boolean =>
    before.booth_id === null
      ? card.booth_id === null && card.facility_id === before.facility_id && card.model_number === before.model_number
      : card.booth_id === before.booth_id;
  const same = choices.cards.filter(isSame);
  if (same.length === 1) return { ...rest, ...same[0] };
  const { completion_status, hw_configuration } = record;
  return { ...before, completion_status, hw_configuration };
}

/** Why nobody but a person can say which booth it is, and how they do. */
export function choiceWords(record: ServiceRecord, said: string | undefined): { reason: string; advice: string } {
  const { choices, serial_number, booth_id } = record;
  if (choices === undefined) {
    return {
      reason: `the service knows serial number ${serial_number} as booth ${booth_id ?? "without an id"}, not as ${said ?? ""}`,
      advice: "compare booth and facility, then confirm, or enter the serial number again",
    };
  }
  const { show_serial, cards } = choices;
  const names = cards.map(choiceName).join(", ");
  if (show_serial)
    return {
      reason: `the service has ${cards.length.toString()} booths with serial number ${serial_number}: ${names}`,
      advice: "choose the one that this box stands beside (--booth ID)",
    };
  const found = `the service doesn't repeat the serial number; its search found`;
  return cards.length === 1
    ? { reason: `${found} one booth, ${names}`, advice: "compare booth and facility, then confirm" }
    : {
        reason: `${found} ${cards.length.toString()} booths: ${names}`,
        advice: "choose the one that this box stands beside (--booth ID)",
      };
}
