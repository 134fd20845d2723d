import type { BindingState } from "../../domain/booth-state.ts";
import { FILTER_TYPES } from "../../domain/booth.ts";
import type { Parameters } from "../../domain/parameters.ts";
import type { ServiceRecord } from "../../domain/service.ts";

/**
 * Merges the service's decisions (time zone, working hours, filter limits) into the gateway's parameters. The gateway's configuration
 * decides everything else. A filter that the profile doesn't have is not fitted in this booth and stays absent.
 */
export function withService(parameters: Parameters, record: ServiceRecord | null): Parameters {
  if (record === null) return parameters;
  const given = record.config?.filters ?? {};
  const filters = Object.fromEntries(
    FILTER_TYPES.flatMap((type) => {
      const own = parameters.filters[type];
      const limits = given[type]?.limits;
      return own === undefined
        ? []
        : [[type, limits === undefined ? own : { ...own, limits: { ...own.limits, ...limits } }]];
    }),
  );
  return {
    ...parameters,
    tz: record.tz ?? parameters.tz,
    working_hours: record.tz === null ? parameters.working_hours : record.working_hours,
    filters,
  };
}

/**
 * Returns a function that returns the parameters in force. It returns the same object until the service's record changes, so that its
 * callers can cache derived values.
 */
export function inForce(own: Parameters, binding: Pick<BindingState, "row">): () => Parameters {
  let record = binding.row.record;
  let made = withService(own, record);
  return () => {
    if (binding.row.record !== record) {
      record = binding.row.record;
      made = withService(own, record);
    }
    return made;
  };
}
