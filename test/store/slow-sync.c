/* Makes every fsync and fdatasync take two seconds, as a worn card does, while the file named by SLOW_SYNC_WHILE is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slowly(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *flag = getenv("SLOW_SYNC_WHILE");
  if (flag != NULL && access(flag, F_OK) == 0) usleep(2000000);
  return real(fd);
}

int fsync(int fd) { return slowly("fsync", fd); }
int fdatasync(int fd) { return slowly("fdatasync", fd); }
