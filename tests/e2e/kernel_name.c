/* Preloaded into every program of an e2e root (/etc/ld.so.preload).
 *
 * uname(2) tells the kernel of the distribution that the root plays: a UTS namespace changes the host name, not the release.
 * It is read at each call from /.e2e/state/uname (release, newline, version), so that a test can boot another kernel.
 *
 * fsync(2) and fdatasync(2) can be a last act: with E2E_KILL_PATH set, the E2E_KILL_AT-th sync of a file whose path contains that
 * text is done and then ends the process with SIGKILL. So a test stops a program right behind each line of its journal.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *name)
{
    char text[200];
    int result = syscall(SYS_uname, name);
    if (result != 0)
        return result;
    int fd = syscall(SYS_openat, AT_FDCWD, "/.e2e/state/uname", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return result;
    long size = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    if (size <= 0)
        return result;
    text[size] = 0;
    char *version = strchr(text, '\n');
    if (version) {
        *version++ = 0;
        version[strcspn(version, "\n")] = 0;
        snprintf(name->version, sizeof name->version, "%.64s", version);
    }
    snprintf(name->release, sizeof name->release, "%.64s", text);
    return result;
}

static void last_act(int fd)
{
    static int seen;
    char link[64], path[4096];
    const char *wanted = getenv("E2E_KILL_PATH"), *at = getenv("E2E_KILL_AT");
    if (!wanted || !at)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long size = readlink(link, path, sizeof path - 1);
    if (size <= 0)
        return;
    path[size] = 0;
    if (strstr(path, wanted) && ++seen == atoi(at))
        kill(getpid(), SIGKILL);
}

int fsync(int fd)
{
    int result = syscall(SYS_fsync, fd);
    last_act(fd);
    return result;
}

int fdatasync(int fd)
{
    int result = syscall(SYS_fdatasync, fd);
    last_act(fd);
    return result;
}
