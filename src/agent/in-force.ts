import { withService } from "../core/service-parameters.ts";
import type { Parameters } from "../core/types/parameters.ts";
import type { BoothBoard } from "./board.ts";

/**
 * The booth's parameters as they are in force: the box's own with what the service decides. Another object only when the service's
 * record is another: each poll goes by them, and what is made of them is kept until then.
 */
export function inForce(own: Parameters, board: Pick<BoothBoard, "row">): () => Parameters {
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
