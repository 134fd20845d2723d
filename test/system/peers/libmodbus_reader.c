/* A client of others: reads two holding registers again and again by libmodbus, and counts. Usage: libmodbus_reader PORT ROUNDS */
#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  modbus_t *client = modbus_new_tcp("127.0.0.1", atoi(argv[1]));
  if (client == NULL || modbus_connect(client) == -1) return 3;
  modbus_set_slave(client, 1);
  modbus_set_response_timeout(client, 10, 0);
  int good = 0, refused = 0, failed = 0;
  uint16_t words[2];
  for (int round = 0; round < atoi(argv[2]); round++) {
    if (modbus_read_registers(client, 0, 2, words) == 2) good++;
    else failed++;
    if (modbus_write_register(client, 0, 9) == -1 && errno == EMBXILFUN) refused++;
    else failed++;
  }
  modbus_close(client);
  modbus_free(client);
  printf("{\"good\": %d, \"refused\": %d, \"failed\": %d}\n", good, refused, failed);
  return 0;
}
