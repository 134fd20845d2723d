import { deliveryRows, unansweredRow, type RowBrokers } from "./delivery-rows.ts";

const aedes: RowBrokers = {
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
};

deliveryRows(aedes);
unansweredRow(aedes);
