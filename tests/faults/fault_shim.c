/* A library for LD_PRELOAD that stands between a program and the system calls that reach a disk.
 *
 * It acts on files below one folder only, and does two things, both controlled by a block of shared memory that the
 * test writes (see fault_shim.py, which has the same layout):
 *
 * - inject: the n-th call of chosen kinds fails with an errno, or writes only half of its bytes;
 * - record: every change of a file or a folder is appended to a log, in order and with its bytes, and so are syncs and
 *   marks, from which the disk after a power failure at any moment can be reconstructed.
 *
 * Its own work uses raw system calls, so that it never calls itself. What it cannot see: stores to shared mappings
 * (it records that there was one), io_uring, programs without dynamic linking, and stdio, which calls write within the
 * C library: streams of fdopen are replaced by ones that come back here, as numpy's tofile needs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, CREATE = 2, READ = 4, WRITE = 8, SYNC = 16, RENAME = 32, TRUNCATE = 64, UNLINK = 128, MMAP = 256,
       LINK = 512, MKDIR = 1024 };

#define PATH_BYTES 1024
#define SHORT_WRITE (-1)
#define MAGIC 0x46415554

struct control {
    uint32_t magic;
    int32_t armed;      /* count matching calls, and fail the nth */
    uint32_t calls;     /* kinds of calls that match */
    int32_t error;      /* errno to fail with; SHORT_WRITE writes half */
    int32_t nth;        /* from 1; 0 only counts */
    int32_t persistent; /* also every matching call after the nth */
    int32_t count;
    int32_t fired;
    int32_t recording;
    int32_t shared_maps; /* writable shared mappings of files: their stores are not recorded */
    char folder[PATH_BYTES];
    char log[PATH_BYTES];
    char failed[PATH_BYTES]; /* where a call failed last */
};

struct entry {
    uint8_t kind;
    uint8_t failed;
    uint16_t path_bytes;
    uint32_t process;
    uint64_t inode;
    uint64_t offset;
    uint64_t data_bytes;
};

static struct control *control;
static int log_descriptor = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real_function(#name))
static void *real_function(const char *name) { return dlsym(RTLD_NEXT, name); }

/* --- where a call goes --- */

static int path_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = syscall(SYS_readlink, link, path, PATH_BYTES - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    if (length > 10 && !strcmp(path + length - 10, " (deleted)")) path[length - 10] = 0;
    return path[0] == '/';
}

static int resolve(int folder, const char *name, char *path) {
    char base[PATH_BYTES];
    if (name == NULL) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_BYTES, "%s", name);
        return 1;
    }
    if (folder == AT_FDCWD) {
        if (syscall(SYS_getcwd, base, sizeof base) <= 0) return 0;
    } else if (!path_of(folder, base)) {
        return 0;
    }
    return snprintf(path, PATH_BYTES, "%s/%s", base, name) < PATH_BYTES;
}

static int is_below(const char *path) {
    size_t length = strlen(control->folder);
    return length && !strncmp(path, control->folder, length) && (path[length] == '/' || path[length] == 0);
}

static int is_active(void) { return control != NULL && (control->armed || control->recording); }

static int below_name(int folder, const char *name, char *path) {
    return is_active() && resolve(folder, name, path) && is_below(path);
}

static int below_descriptor(int descriptor, char *path) {
    return is_active() && descriptor >= 0 && path_of(descriptor, path) && is_below(path);
}

/* --- faults --- */

/* Return the errno to fail with, SHORT_WRITE, or 0 to go on. */
static int fault(uint32_t kind, const char *path) {
    if (!control->armed || !(control->calls & kind)) return 0;
    int number = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
    int nth = control->nth;
    if (nth == 0 || number < nth || (number > nth && !control->persistent)) return 0;
    __atomic_add_fetch(&control->fired, 1, __ATOMIC_SEQ_CST);
    snprintf(control->failed, PATH_BYTES, "%s", path);
    return control->error;
}

#define FAIL_IF(kind, path, value)                   \
    do {                                             \
        int error_ = fault(kind, path);              \
        if (error_ > 0) {                            \
            errno = error_;                          \
            return value;                            \
        }                                            \
    } while (0)

/* --- the log --- */

static void append(uint8_t kind, int failed, uint64_t inode, uint64_t offset, const char *path, const void *data,
                   size_t size) {
    struct entry entry = {kind, (uint8_t)failed, (uint16_t)strlen(path), (uint32_t)getpid(), inode, offset, size};
    struct iovec parts[3] = {{&entry, sizeof entry}, {(void *)path, entry.path_bytes}, {(void *)data, size}};
    if (syscall(SYS_writev, log_descriptor, parts, 3) < 0) abort();
}

static uint64_t inode_of(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

/* Changes are made and recorded under one lock, so that the log has the order in which they happened. */
static int begin_change(void) {
    if (!control->recording) return 0;
    pthread_mutex_lock(&order);
    if (log_descriptor < 0 || syscall(SYS_fcntl, log_descriptor, F_GETFD) < 0) {
        int low = syscall(SYS_openat, AT_FDCWD, control->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        log_descriptor = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 700);
        if (log_descriptor < 0) abort();
        syscall(SYS_close, low);
    }
    return 1;
}

static void end_change(int recording) {
    int error = errno;
    if (recording) pthread_mutex_unlock(&order);
    errno = error;
}

static void lock_order(void) { pthread_mutex_lock(&order); }
static void unlock_order(void) { pthread_mutex_unlock(&order); }

int fault_attach(const char *path) {
    int descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    void *block = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    syscall(SYS_close, descriptor);
    if (block == MAP_FAILED || ((struct control *)block)->magic != MAGIC) return -1;
    if (log_descriptor >= 0) syscall(SYS_close, log_descriptor);
    log_descriptor = -1;
    control = block;
    return 0;
}

void fault_mark(const char *text) {
    if (control == NULL || !control->recording) return;
    int recording = begin_change();
    append('M', 0, 0, 0, "", text, strlen(text));
    end_change(recording);
}

__attribute__((constructor)) static void start(void) {
    pthread_atfork(lock_order, unlock_order, unlock_order);
    const char *path = getenv("PERIPLUS_FAULT_CONTROL");
    if (path != NULL) fault_attach(path);
}

/* --- open --- */

static int open_file(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_BYTES];
    if (!below_name(folder, name, path)) return syscall(SYS_openat, folder, name, flags | O_LARGEFILE, mode);
    FAIL_IF(OPEN | (flags & (O_CREAT | O_TRUNC) ? CREATE : 0), path, -1);
    int recording = begin_change();
    struct stat status;
    int existed = syscall(SYS_newfstatat, folder, name, &status, 0) == 0;
    int descriptor = syscall(SYS_openat, folder, name, flags | O_LARGEFILE, mode);
    if (recording && descriptor >= 0) {
        if (!existed && (flags & O_CREAT)) append('C', 0, inode_of(descriptor), 0, path, "", 0);
        if (existed && (flags & O_TRUNC) && status.st_size) append('T', 0, inode_of(descriptor), 0, path, "", 0);
    }
    end_change(recording);
    return descriptor;
}

static mode_t mode_argument(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN_LIKE(name)                                     \
    int name(const char *path, int flags, ...) {            \
        va_list arguments;                                  \
        va_start(arguments, flags);                         \
        mode_t mode = mode_argument(flags, arguments);      \
        va_end(arguments);                                  \
        return open_file(AT_FDCWD, path, flags, mode);      \
    }
#define OPENAT_LIKE(name)                                   \
    int name(int folder, const char *path, int flags, ...) { \
        va_list arguments;                                  \
        va_start(arguments, flags);                         \
        mode_t mode = mode_argument(flags, arguments);      \
        va_end(arguments);                                  \
        return open_file(folder, path, flags, mode);        \
    }
OPEN_LIKE(open)
OPEN_LIKE(open64)
OPENAT_LIKE(openat)
OPENAT_LIKE(openat64)
int __open_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }
int __openat64_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }
int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

DIR *opendir(const char *name) {
    char path[PATH_BYTES];
    /* A folder is never opened slowly enough to be interrupted, and Python does not try again. */
    if (below_name(AT_FDCWD, name, path) && control->error != EINTR) FAIL_IF(OPEN, path, NULL);
    return REAL(opendir)(name);
}

/* --- write --- */

static ssize_t write_bytes(int descriptor, const void *data, size_t size, off_t offset, int positioned) {
    char path[PATH_BYTES];
    if (!below_descriptor(descriptor, path)) {
        return positioned ? syscall(SYS_pwrite64, descriptor, data, size, offset)
                          : syscall(SYS_write, descriptor, data, size);
    }
    int error = size ? fault(WRITE, path) : 0;
    if (error > 0) {
        errno = error;
        return -1;
    }
    if (error == SHORT_WRITE && size > 1) size /= 2;
    int recording = begin_change();
    ssize_t written = positioned ? syscall(SYS_pwrite64, descriptor, data, size, offset)
                                 : syscall(SYS_write, descriptor, data, size);
    if (recording && written > 0) {
        if (!positioned) offset = syscall(SYS_lseek, descriptor, 0, SEEK_CUR) - written;
        append('W', 0, inode_of(descriptor), offset, path, data, written);
    }
    end_change(recording);
    return written;
}

ssize_t write(int descriptor, const void *data, size_t size) { return write_bytes(descriptor, data, size, 0, 0); }
ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    return write_bytes(descriptor, data, size, offset, 1);
}
ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    return write_bytes(descriptor, data, size, offset, 1);
}

static ssize_t write_parts(int descriptor, const struct iovec *parts, int count, off_t offset, int positioned) {
    char path[PATH_BYTES];
    if (!below_descriptor(descriptor, path)) {
        return positioned ? syscall(SYS_pwritev, descriptor, parts, count, (long)offset, (long)0)
                          : syscall(SYS_writev, descriptor, parts, count);
    }
    size_t size = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    char *joined = malloc(size ? size : 1), *end = joined;
    if (joined == NULL) {
        errno = ENOMEM;
        return -1;
    }
    for (int i = 0; i < count; i++) {
        memcpy(end, parts[i].iov_base, parts[i].iov_len);
        end += parts[i].iov_len;
    }
    ssize_t written = write_bytes(descriptor, joined, size, offset, positioned);
    free(joined);
    return written;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    return write_parts(descriptor, parts, count, 0, 0);
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    return write_parts(descriptor, parts, count, offset, 1);
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    return write_parts(descriptor, parts, count, offset, 1);
}
ssize_t pwritev2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
    (void)flags;
    return write_parts(descriptor, parts, count, offset, offset != -1);
}
ssize_t pwritev64v2(int descriptor, const struct iovec *parts, int count, off64_t offset, int flags) {
    (void)flags;
    return write_parts(descriptor, parts, count, offset, offset != -1);
}

/* Copies within the kernel are done with an ordinary buffer, so that they count as writes. */
static ssize_t copy_bytes(int in, off_t *in_offset, int out, off_t *out_offset, size_t size) {
    char buffer[1 << 16];
    if (size > sizeof buffer) size = sizeof buffer;
    ssize_t length = in_offset ? pread(in, buffer, size, *in_offset) : read(in, buffer, size);
    if (length <= 0) return length;
    ssize_t written = write_bytes(out, buffer, length, out_offset ? *out_offset : 0, out_offset != NULL);
    if (written < 0) {
        if (!in_offset) syscall(SYS_lseek, in, -length, SEEK_CUR);
        return -1;
    }
    if (in_offset) *in_offset += written;
    else if (written < length) syscall(SYS_lseek, in, written - length, SEEK_CUR);
    if (out_offset) *out_offset += written;
    return written;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    char path[PATH_BYTES];
    if (below_descriptor(out, path)) return copy_bytes(in, offset, out, NULL, size);
    return syscall(SYS_sendfile, out, in, offset, size);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) { return sendfile(out, in, offset, size); }
ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size, unsigned flags) {
    char path[PATH_BYTES];
    if (below_descriptor(out, path)) return copy_bytes(in, in_offset, out, out_offset, size);
    return syscall(SYS_copy_file_range, in, in_offset, out, out_offset, size, flags);
}

/* --- stdio --- */

static ssize_t stream_write(void *cookie, const char *data, size_t size) {
    ssize_t written = write_bytes((int)(intptr_t)cookie, data, size, 0, 0);
    return written < 0 ? 0 : written;
}
static ssize_t stream_read(void *cookie, char *data, size_t size) { return read((int)(intptr_t)cookie, data, size); }
static int stream_seek(void *cookie, off64_t *offset, int whence) {
    off64_t position = syscall(SYS_lseek, (int)(intptr_t)cookie, *offset, whence);
    if (position < 0) return -1;
    *offset = position;
    return 0;
}
static int stream_close(void *cookie) { return syscall(SYS_close, (int)(intptr_t)cookie); }

FILE *fdopen(int descriptor, const char *mode) {
    char path[PATH_BYTES];
    if (!below_descriptor(descriptor, path)) return REAL(fdopen)(descriptor, mode);
    cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
    return fopencookie((void *)(intptr_t)descriptor, mode, functions);
}

static FILE *open_stream(const char *name, const char *mode, FILE *(*next)(const char *, const char *)) {
    char path[PATH_BYTES];
    if (below_name(AT_FDCWD, name, path)) {
        FAIL_IF(OPEN | (mode[0] == 'r' ? 0 : CREATE), path, NULL);
        if (mode[0] != 'r' || strchr(mode, '+')) __atomic_add_fetch(&control->shared_maps, 1, __ATOMIC_SEQ_CST);
    }
    return next(name, mode);
}
FILE *fopen(const char *name, const char *mode) { return open_stream(name, mode, REAL(fopen)); }
FILE *fopen64(const char *name, const char *mode) { return open_stream(name, mode, REAL(fopen64)); }

/* --- read --- */

#define FAIL_READ(descriptor)                                                      \
    do {                                                                           \
        char path_[PATH_BYTES];                                                    \
        if (below_descriptor(descriptor, path_)) FAIL_IF(READ, path_, -1);         \
    } while (0)

ssize_t read(int descriptor, void *data, size_t size) {
    FAIL_READ(descriptor);
    return syscall(SYS_read, descriptor, data, size);
}
ssize_t pread(int descriptor, void *data, size_t size, off_t offset) {
    FAIL_READ(descriptor);
    return syscall(SYS_pread64, descriptor, data, size, offset);
}
ssize_t pread64(int descriptor, void *data, size_t size, off64_t offset) { return pread(descriptor, data, size, offset); }
ssize_t __read_chk(int descriptor, void *data, size_t size, size_t room) {
    (void)room;
    return read(descriptor, data, size);
}
ssize_t __pread_chk(int descriptor, void *data, size_t size, off_t offset, size_t room) {
    (void)room;
    return pread(descriptor, data, size, offset);
}
ssize_t __pread64_chk(int descriptor, void *data, size_t size, off64_t offset, size_t room) {
    (void)room;
    return pread(descriptor, data, size, offset);
}
ssize_t readv(int descriptor, const struct iovec *parts, int count) {
    FAIL_READ(descriptor);
    return syscall(SYS_readv, descriptor, parts, count);
}

static void *map_file(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
    char path[PATH_BYTES];
    if (!(flags & MAP_ANONYMOUS) && below_descriptor(descriptor, path)) {
        FAIL_IF(MMAP, path, MAP_FAILED);
        if ((protection & PROT_WRITE) && (flags & MAP_SHARED)) __atomic_add_fetch(&control->shared_maps, 1, __ATOMIC_SEQ_CST);
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
}
void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
    return map_file(address, size, protection, flags, descriptor, offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int descriptor, off64_t offset) {
    return map_file(address, size, protection, flags, descriptor, offset);
}

/* --- sync, truncate --- */

static int sync_file(int descriptor, long number) {
    char path[PATH_BYTES];
    if (!below_descriptor(descriptor, path)) return syscall(number, descriptor);
    int error = fault(SYNC, path);
    int recording = begin_change();
    struct stat status;
    if (recording && fstat(descriptor, &status) == 0)
        append(S_ISDIR(status.st_mode) ? 'F' : 'S', error > 0, status.st_ino, 0, path, "", 0);
    end_change(recording);
    if (error > 0) {
        errno = error;
        return -1;
    }
    return 0; /* the log is what is replayed: a disk need not be waited for */
}
int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

static int truncate_file(int descriptor, off_t size) {
    char path[PATH_BYTES];
    if (!below_descriptor(descriptor, path)) return syscall(SYS_ftruncate, descriptor, size);
    FAIL_IF(TRUNCATE, path, -1);
    int recording = begin_change();
    int result = syscall(SYS_ftruncate, descriptor, size);
    if (recording && result == 0) append('T', 0, inode_of(descriptor), size, path, "", 0);
    end_change(recording);
    return result;
}
int ftruncate(int descriptor, off_t size) { return truncate_file(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return truncate_file(descriptor, size); }

static int truncate_name(const char *name, off_t size) {
    char path[PATH_BYTES];
    if (!below_name(AT_FDCWD, name, path)) return syscall(SYS_truncate, name, size);
    int descriptor = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    int result = truncate_file(descriptor, size);
    int error = errno;
    syscall(SYS_close, descriptor);
    errno = error;
    return result;
}
int truncate(const char *name, off_t size) { return truncate_name(name, size); }
int truncate64(const char *name, off64_t size) { return truncate_name(name, size); }

static int allocate(int descriptor, int mode, off_t offset, off_t size) {
    char path[PATH_BYTES];
    struct stat status;
    if (!below_descriptor(descriptor, path)) return syscall(SYS_fallocate, descriptor, mode, offset, size);
    FAIL_IF(TRUNCATE, path, -1);
    if (mode == 0 && fstat(descriptor, &status) == 0 && status.st_size < offset + size)
        return truncate_file(descriptor, offset + size);
    return syscall(SYS_fallocate, descriptor, mode, offset, size);
}
int fallocate(int descriptor, int mode, off_t offset, off_t size) { return allocate(descriptor, mode, offset, size); }
int fallocate64(int descriptor, int mode, off64_t offset, off64_t size) {
    return allocate(descriptor, mode, offset, size);
}
int posix_fallocate(int descriptor, off_t offset, off_t size) {
    return allocate(descriptor, 0, offset, size) < 0 ? errno : 0;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t size) {
    return allocate(descriptor, 0, offset, size) < 0 ? errno : 0;
}

/* --- names --- */

static int rename_file(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char path[PATH_BYTES], target[PATH_BYTES];
    if (!below_name(to_folder, to, target) || !resolve(from_folder, from, path))
        return syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    FAIL_IF(RENAME, target, -1);
    int recording = begin_change();
    int result = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (recording && result == 0) append('R', 0, 0, 0, path, target, strlen(target));
    end_change(recording);
    return result;
}
int rename(const char *from, const char *to) { return rename_file(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return rename_file(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return rename_file(from_folder, from, to_folder, to, flags);
}

static int remove_name(int folder, const char *name, int flags) {
    char path[PATH_BYTES];
    if (!below_name(folder, name, path)) return syscall(SYS_unlinkat, folder, name, flags);
    FAIL_IF(UNLINK, path, -1);
    int recording = begin_change();
    int result = syscall(SYS_unlinkat, folder, name, flags);
    if (recording && result == 0) append(flags & AT_REMOVEDIR ? 'X' : 'U', 0, 0, 0, path, "", 0);
    end_change(recording);
    return result;
}
int unlink(const char *name) { return remove_name(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return remove_name(folder, name, flags); }
int rmdir(const char *name) { return remove_name(AT_FDCWD, name, AT_REMOVEDIR); }

static int make_folder(int folder, const char *name, mode_t mode) {
    char path[PATH_BYTES];
    if (!below_name(folder, name, path)) return syscall(SYS_mkdirat, folder, name, mode);
    FAIL_IF(MKDIR, path, -1);
    int recording = begin_change();
    int result = syscall(SYS_mkdirat, folder, name, mode);
    if (recording && result == 0) append('D', 0, 0, 0, path, "", 0);
    end_change(recording);
    return result;
}
int mkdir(const char *name, mode_t mode) { return make_folder(AT_FDCWD, name, mode); }
int mkdirat(int folder, const char *name, mode_t mode) { return make_folder(folder, name, mode); }

static int link_file(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char path[PATH_BYTES], target[PATH_BYTES];
    if (!below_name(to_folder, to, target) || !resolve(from_folder, from, path))
        return syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    FAIL_IF(LINK, target, -1);
    int recording = begin_change();
    int result = syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (recording && result == 0) append('L', 0, 0, 0, path, target, strlen(target));
    end_change(recording);
    return result;
}
int link(const char *from, const char *to) { return link_file(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return link_file(from_folder, from, to_folder, to, flags);
}
