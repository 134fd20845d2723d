import { deliveryRows } from "../support/delivery-rows.ts";

deliveryRows({
  name: "aedes",
  make: () =>
    Promise.resolve({
      options: {},
      url: (bed) => bed.service.mqttUrl,
      strike: (bed, { gateway_id }) => {
        bed.service.disconnect(gateway_id);
        return Promise.resolve();
      },
    }),
});
