/*
 * The least that a Modbus client can cost: libmodbus reading 125 holding registers again and again.
 *
 * usage: libmodbus_client PORT
 * Standard input: a number of reads a line. Prints for each line the CPU, user and system, that one read cost in microseconds. Ends
 * with its input.
 */
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define COUNT 125

static double cpuMicros(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
  char line[32];
  uint16_t registers[COUNT];
  if (argc < 2) return 1;
  modbus_t *context = modbus_new_tcp("127.0.0.1", atoi(argv[1]));
  if (context == NULL || modbus_connect(context) == -1) return 1;
  modbus_set_slave(context, 1);
  while (fgets(line, sizeof line, stdin) != NULL) {
    int reads = atoi(line);
    double before = cpuMicros();
    for (int i = 0; i < reads; i++) {
      if (modbus_read_registers(context, 0, COUNT, registers) != COUNT) return 1;
    }
    printf("%.4f\n", (cpuMicros() - before) / reads);
    fflush(stdout);
  }
  modbus_close(context);
  return 0;
}
