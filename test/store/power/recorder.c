/*
 * Writes down, in order, what a process does to the files of one folder: preload it with RECORD_FOLDER (no trailing slash)
 * and RECORD_FILE set. Each entry: operation (1 byte), length of the name (1), zero (2), length of the data (4), offset (8),
 * name, data; little-endian. Operations: C created, W written, T truncated to `offset`, S synced, D the folder synced,
 * U unlinked, R renamed to the name in the data. Shared memory (-shm) is left aside: SQLite makes it anew.
 * The lock is held over operation and entry, so that the order written down is the one in which they happened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FDS 1024
#define MOST_NAME 100

/* "" : not ours; "." : the folder itself */
static char names[MOST_FDS][MOST_NAME];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int out = -1;

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t real_write(int fd, const void *data, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return real(fd, data, length);
}

__attribute__((constructor)) static void begin(void) {
  REAL(int, "open", const char *, int, ...);
  folder = getenv("RECORD_FOLDER");
  const char *file = getenv("RECORD_FILE");
  if (folder && file) out = real(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *data, size_t length) {
  const char *at = data;
  while (length > 0) {
    ssize_t done = real_write(out, at, length);
    if (done <= 0) abort();
    at += done;
    length -= (size_t)done;
  }
}

static void note(char operation, const char *name, uint64_t offset, const void *data, uint32_t length) {
  unsigned char head[16] = {(unsigned char)operation, (unsigned char)strlen(name)};
  memcpy(head + 4, &length, 4);
  memcpy(head + 8, &offset, 8);
  put(head, sizeof head);
  put(name, strlen(name));
  if (length > 0) put(data, length);
}

/* The name within the folder; NULL: another place. */
static const char *ours(const char *path) {
  if (out < 0) return NULL;
  size_t length = strlen(folder);
  if (strncmp(path, folder, length) != 0) return NULL;
  if (path[length] == 0) return ".";
  if (path[length] != '/') return NULL;
  const char *name = path + length + 1;
  size_t rest = strlen(name);
  if (rest >= MOST_NAME || (rest > 4 && strcmp(name + rest - 4, "-shm") == 0)) return NULL;
  return name;
}

static const char *name_of(int fd) {
  return fd >= 0 && fd < MOST_FDS && names[fd][0] != 0 ? names[fd] : NULL;
}

typedef int (*opener)(const char *, int, ...);

static int opened(opener real, const char *path, int flags, mode_t mode) {
  const char *name = ours(path);
  if (name == NULL) {
    int fd = real(path, flags, mode);
    /* Its number may have been that of one of ours, which was closed by a call that isn't seen here. */
    if (fd >= 0 && fd < MOST_FDS) names[fd][0] = 0;
    return fd;
  }
  pthread_mutex_lock(&lock);
  struct stat before;
  int was = stat(path, &before) == 0;
  int fd = real(path, flags, mode);
  if (fd >= MOST_FDS) abort();
  if (fd >= 0) {
    strcpy(names[fd], name);
    if (!was) note('C', name, 0, NULL, 0);
    else if (flags & O_TRUNC) note('T', name, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

#define OPEN(own, symbol) \
  int own(const char *path, int flags, ...) { \
    REAL(int, symbol, const char *, int, ...); \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = (mode_t)va_arg(more, int); \
    va_end(more); \
    return opened(real, path, flags, mode); \
  }
OPEN(open, "open")
OPEN(open64, "open64")

int close(int fd) {
  REAL(int, "close", int);
  pthread_mutex_lock(&lock);
  if (fd >= 0 && fd < MOST_FDS) names[fd][0] = 0;
  int result = real(fd);
  pthread_mutex_unlock(&lock);
  return result;
}

ssize_t write(int fd, const void *data, size_t length) {
  const char *name = name_of(fd);
  if (name == NULL) return real_write(fd, data, length);
  pthread_mutex_lock(&lock);
  off_t at = lseek(fd, 0, SEEK_CUR);
  ssize_t done = real_write(fd, data, length);
  if (done > 0) note('W', name, (uint64_t)at, data, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  if (name_of(fd) == NULL) return real(fd, parts, count);
  /* A short write is a legal answer: the caller comes again with the rest. */
  return write(fd, parts[0].iov_base, parts[0].iov_len);
}

typedef ssize_t (*placer)(int, const void *, size_t, off_t);

static ssize_t placed(placer real, int fd, const void *data, size_t length, off_t at) {
  const char *name = name_of(fd);
  if (name == NULL) return real(fd, data, length, at);
  pthread_mutex_lock(&lock);
  ssize_t done = real(fd, data, length, at);
  if (done > 0) note('W', name, (uint64_t)at, data, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

#define PWRITE(own) \
  ssize_t own(int fd, const void *data, size_t length, off_t at) { \
    REAL(ssize_t, #own, int, const void *, size_t, off_t); \
    return placed(real, fd, data, length, at); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

typedef int (*cutter)(int, off_t);

static int cut(cutter real, int fd, off_t length) {
  const char *name = name_of(fd);
  if (name == NULL) return real(fd, length);
  pthread_mutex_lock(&lock);
  int result = real(fd, length);
  if (result == 0) note('T', name, (uint64_t)length, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

#define TRUNCATE(own) \
  int own(int fd, off_t length) { \
    REAL(int, #own, int, off_t); \
    return cut(real, fd, length); \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

typedef int (*syncer)(int);

static int synced(syncer real, int fd) {
  const char *name = name_of(fd);
  if (name == NULL) return real(fd);
  pthread_mutex_lock(&lock);
  int result = real(fd);
  if (result == 0) note(strcmp(name, ".") == 0 ? 'D' : 'S', name, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

#define SYNC(own) \
  int own(int fd) { \
    REAL(int, #own, int); \
    return synced(real, fd); \
  }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  const char *name = ours(path);
  if (name == NULL) return real(path);
  pthread_mutex_lock(&lock);
  int result = real(path);
  if (result == 0) note('U', name, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  const char *name = ours(from), *target = ours(to);
  if (name == NULL && target == NULL) return real(from, to);
  /* Into or out of the folder can't be told in this record. */
  if (name == NULL || target == NULL) abort();
  pthread_mutex_lock(&lock);
  int result = real(from, to);
  if (result == 0) note('R', name, 0, target, (uint32_t)strlen(target));
  pthread_mutex_unlock(&lock);
  return result;
}
