/*
 * A libmodbus server whose registers are encoded by libmodbus's own conversions, or in C where it has none.
 *
 * usage: libmodbus_server tcp | serial PATH
 * Standard input, until a line "serve":
 *   u16 ADDRESS VALUE | i32 ADDRESS VALUE | i64 ADDRESS VALUE | f32 abcd|cdab|badc|dcba ADDRESS VALUE | bit ADDRESS 0|1
 *   raw REGISTERS abcd|cdab|badc|dcba ADDRESS INTEGER | f64 abcd|cdab|badc|dcba ADDRESS VALUE | str ADDRESS TEXT
 * Prints "ready PORT" (0 for a serial line) and serves until it is killed. From then on a line on standard input switches a fault:
 *   drop PERCENT SEED | wrong_ids NTH | close_at CODE (a request with that function ends the connection) | told
 * 0 switches a fault off. "told" prints "faults COUNT": how many were made.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <modbus.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REGISTERS 2000

typedef void (*SetFloat)(float, uint16_t *);

/*
 * libmodbus up to 3.1.6 names its orders by the bytes in the memory of a little-endian host, where each register stands
 * low byte first; later versions by the bytes on the wire. Ours are those of the wire.
 */
static void setFloat(modbus_mapping_t *map, const char *order, int address, float value) {
  static const char *const orders[] = {"abcd", "badc", "cdab", "dcba"};
  static const SetFloat setters[] = {modbus_set_float_abcd, modbus_set_float_badc, modbus_set_float_cdab,
                                     modbus_set_float_dcba};
  uint16_t probe[2];
  modbus_set_float_abcd(1.0f, probe); /* 3F 80 00 00 */
  int namesMemory = probe[0] != 0x3f80;
  for (int i = 0; i < 4; i++) {
    if (strcmp(order, orders[i]) == 0) setters[namesMemory ? i ^ 1 : i](value, map->tab_registers + address);
  }
}

/* abcd: high word and high byte first; cdab: low word first; badc: low byte first; dcba: both. */
static void setBits(modbus_mapping_t *map, int width, const char *order, int address, uint64_t bits) {
  int lowWordFirst = order[0] == 'c' || order[0] == 'd';
  int lowByteFirst = order[0] == 'b' || order[0] == 'd';
  for (int i = 0; i < width; i++) {
    uint16_t word = (uint16_t)(bits >> (16 * (lowWordFirst ? i : width - 1 - i)));
    map->tab_registers[address + i] = lowByteFirst ? (uint16_t)(word << 8 | word >> 8) : word;
  }
}

static void setText(modbus_mapping_t *map, int address, const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i += 2) {
    uint8_t second = i + 1 < length ? (uint8_t)text[i + 1] : 0;
    map->tab_registers[address + (int)(i / 2)] = (uint16_t)((uint8_t)text[i] << 8 | second);
  }
}

static void readImage(modbus_mapping_t *map) {
  char line[200], order[8], text[100];
  int address, width;
  double wide;
  uint64_t bits;
  long long value;
  float real;
  while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "serve", 5) != 0) {
    if (sscanf(line, "f32 %7s %d %f", order, &address, &real) == 3) setFloat(map, order, address, real);
    else if (sscanf(line, "raw %d %7s %d %99s", &width, order, &address, text) == 4) {
      bits = text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
      setBits(map, width, order, address, bits);
    } else if (sscanf(line, "f64 %7s %d %lf", order, &address, &wide) == 3) {
      memcpy(&bits, &wide, sizeof bits);
      setBits(map, 4, order, address, bits);
    } else if (sscanf(line, "str %d %99s", &address, text) == 2) setText(map, address, text);
    else if (sscanf(line, "u16 %d %lld", &address, &value) == 2) map->tab_registers[address] = (uint16_t)value;
    else if (sscanf(line, "i32 %d %lld", &address, &value) == 2) {
      MODBUS_SET_INT32_TO_INT16(map->tab_registers, address, (int32_t)value);
    } else if (sscanf(line, "i64 %d %lld", &address, &value) == 2) {
      MODBUS_SET_INT64_TO_INT16(map->tab_registers, address, (int64_t)value);
    } else if (sscanf(line, "bit %d %lld", &address, &value) == 2) map->tab_bits[address] = (uint8_t)value;
  }
  memcpy(map->tab_input_registers, map->tab_registers, REGISTERS * sizeof(uint16_t));
  memcpy(map->tab_input_bits, map->tab_bits, REGISTERS);
}

static atomic_uint drop, seed, wrongIds, closeAt, made;

/* A thread of its own, as the server waits for its client. */
static void *readFaults(void *nothing) {
  char line[100];
  unsigned value, of;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "drop %u %u", &value, &of) == 2) {
      seed = of;
      drop = value;
    } else if (sscanf(line, "wrong_ids %u", &value) == 1) wrongIds = value;
    else if (sscanf(line, "close_at %u", &value) == 1) closeAt = value;
    else if (strncmp(line, "told", 4) == 0) {
      printf("faults %u\n", made);
      fflush(stdout);
    }
  }
  return nothing;
}

static int isDropped(void) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % 100 < drop;
}

/* Until the connection ends. The caller closes it. */
static void answer(modbus_t *context, modbus_mapping_t *map) {
  static unsigned answers = 0;
  uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
  int header = modbus_get_header_length(context), isTcp = header == 7;
  for (;;) {
    int length = modbus_receive(context, query);
    if (length == -1) return;
    if (length == 0) continue;
    if (closeAt != 0 && query[header] == closeAt) {
      made++;
      return;
    }
    if (isDropped()) {
      made++;
      continue;
    }
    if (isTcp && wrongIds != 0 && ++answers % wrongIds == 0) {
      query[1] += 7; /* the low byte of the transaction id, which the reply repeats */
      made++;
    }
    modbus_reply(context, query, length, map);
  }
}

int main(int argc, char **argv) {
  modbus_mapping_t *map = modbus_mapping_new(REGISTERS, REGISTERS, REGISTERS, REGISTERS);
  if (map == NULL || argc < 2) return 1;
  readImage(map);
  pthread_t faults;
  if (pthread_create(&faults, NULL, readFaults, NULL) != 0) return 1;
  if (strcmp(argv[1], "serial") == 0 && argc > 2) {
    modbus_t *context = modbus_new_rtu(argv[2], 19200, 'N', 8, 1);
    modbus_set_slave(context, 1);
    if (modbus_connect(context) == -1) return 1;
    printf("ready 0\n");
    fflush(stdout);
    for (;;) answer(context, map);
  }
  modbus_t *context = modbus_new_tcp("127.0.0.1", 0);
  int listening = modbus_tcp_listen(context, 1);
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  if (listening == -1 || getsockname(listening, (struct sockaddr *)&address, &size) == -1) return 1;
  printf("ready %d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    if (modbus_tcp_accept(context, &listening) == -1) return 1;
    answer(context, map);
    modbus_close(context);
  }
}
