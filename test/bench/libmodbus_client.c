/*
 * The least that a Modbus client can cost: libmodbus reading the same blocks again and again.
 *
 * usage: libmodbus_client PORT [FUNCTION ADDRESS COUNT]...
 * Blocks by function code 1 to 4; none: 125 holding registers from 0 on.
 * Standard input: a number of rounds a line, each of which reads every block. Prints for each line the CPU, user and system, that
 * one round cost in microseconds. Ends with its input.
 */
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpuMicros(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int readBlock(modbus_t *context, int function, int address, int count) {
  static uint16_t registers[MODBUS_MAX_READ_REGISTERS];
  static uint8_t bits[MODBUS_MAX_READ_BITS];
  switch (function) {
    case 1: return modbus_read_bits(context, address, count, bits);
    case 2: return modbus_read_input_bits(context, address, count, bits);
    case 3: return modbus_read_registers(context, address, count, registers);
    default: return modbus_read_input_registers(context, address, count, registers);
  }
}

int main(int argc, char **argv) {
  static char *usual[] = {"3", "0", "125"};
  char line[32];
  if (argc < 2) return 1;
  char **blocks = argc < 5 ? usual : argv + 2;
  int length = argc < 5 ? 3 : argc - 2;
  modbus_t *context = modbus_new_tcp("127.0.0.1", atoi(argv[1]));
  if (context == NULL || modbus_connect(context) == -1) return 1;
  modbus_set_slave(context, 1);
  while (fgets(line, sizeof line, stdin) != NULL) {
    int rounds = atoi(line);
    double before = cpuMicros();
    for (int i = 0; i < rounds; i++) {
      for (int at = 0; at + 2 < length; at += 3) {
        int count = atoi(blocks[at + 2]);
        if (readBlock(context, atoi(blocks[at]), atoi(blocks[at + 1]), count) != count) return 1;
      }
    }
    printf("%.4f\n", (cpuMicros() - before) / rounds);
    fflush(stdout);
  }
  modbus_close(context);
  return 0;
}
