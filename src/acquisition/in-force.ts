import { withService } from "./rules/service-parameters.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { BoothState } from "../runtime/booth-state.ts";

/**
 * The booth's parameters as they are in force: the box's own with what the service decides. Another object only when the service's
 * record is another: each poll goes by them, and what is made of them is kept until then.
 */
export function inForce(own: Parameters, board: Pick<BoothState, "row">): () => Parameters {
  let record = board.row.record;
  let made = withService(own, record);
  return () => {
    if (board.row.record !== record) {
      record = board.row.record;
      made = withService(own, record);
    }
    return made;
  };
}
