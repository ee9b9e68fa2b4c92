#include "tools/tidemark/target.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPT_DEPTH = 4, /* the kernel follows no more */
    LINE_BYTES = 256, /* what the kernel reads of a script's first line */
};

static bool is_executable(const char *path)
{
    struct stat status;

    return access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* The file that execvp would execute; false when there is none. */
static bool look_up(const char *program, char path[PATH_MAX])
{
    char standard[PATH_MAX] = "";
    const char *folders = getenv("PATH");

    if (strchr(program, '/') != NULL)
        return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX && is_executable(path);
    if (folders == NULL) {
        confstr(_CS_PATH, standard, sizeof standard);
        folders = standard;
    }
    for (;;) {
        int length = (int)strcspn(folders, ":");
        /* An empty element is the current directory. */
        int end = snprintf(path, PATH_MAX, "%.*s%s%s", length, folders,
                           length == 0 ? "" : "/", program);
        if (end < PATH_MAX && is_executable(path))
            return true;
        if (folders[length] == '\0')
            return false;
        folders += length + 1;
    }
}

/* Reads the interpreter from the "#! path [argument]" that a script starts with. */
static bool read_script(int fd, char interpreter[PATH_MAX])
{
    char line[LINE_BYTES + 1];
    ssize_t length = pread(fd, line, LINE_BYTES, 0);

    if (length < 2 || line[0] != '#' || line[1] != '!')
        return false;
    line[length] = '\0';
    char *start = line + 2 + strspn(line + 2, " \t");
    start[strcspn(start, " \t\n")] = '\0';
    strcpy(interpreter, start);
    return true;
}

static bool is_glibc_loader(const char *path)
{
    static const char name[] = "ld-linux-x86-64.so";
    const char *slash = strrchr(path, '/');

    return strncmp(slash == NULL ? path : slash + 1, name, sizeof name - 1) == 0;
}

/* Reads the path of the loader; false when the file names none. */
static bool read_loader(int fd, const Elf64_Ehdr *header, char loader[PATH_MAX])
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        off_t offset = (off_t)(header->e_phoff + i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, offset) != (ssize_t)sizeof segment)
            return false;
        if (segment.p_type != PT_INTERP || segment.p_filesz >= PATH_MAX)
            continue;
        ssize_t length = pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset);
        loader[length > 0 ? length : 0] = '\0';
        return true;
    }
    return false;
}

/* The kernel tells the loader to drop the preload of whoever gains rights by executing. */
static const char *gains_rights(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return NULL;
    if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid())
        return "runs as another user";
    if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 &&
        status.st_gid != getgid())
        return "runs as another group";
    if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "has file capabilities";
    return NULL;
}

/* Why no preload can act in the file; NULL when one can, or when this is no ELF file. */
static const char *find_obstacle(int fd, const char *path)
{
    Elf64_Ehdr header;
    char loader[PATH_MAX];

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        return "is not a 64-bit x86 program";
    /* The loader, run as a program, is static itself and preloads into what it loads. */
    if (is_glibc_loader(path))
        return NULL;
    if (!read_loader(fd, &header, loader))
        return "is statically linked";
    if (!is_glibc_loader(loader))
        return strstr(loader, "ld-musl") != NULL ? "is loaded by musl, not by glibc"
                                                 : "is not loaded by glibc";
    return gains_rights(fd);
}

/* Opens the binary that is executed for the file `path`: for a script its interpreter,
   which `path` then names. -1 when something on the way cannot be read. */
static int open_binary(char path[PATH_MAX], bool *is_script)
{
    char interpreter[PATH_MAX];

    *is_script = false;
    for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd == -1 || !read_script(fd, interpreter))
            return fd;
        close(fd);
        strcpy(path, interpreter);
        *is_script = true;
    }
    return -1;
}

bool target_takes_preload(const char *program, char reason[TARGET_REASON_BYTES])
{
    char path[PATH_MAX];
    bool is_script;

    if (!look_up(program, path))
        return true;
    int fd = open_binary(path, &is_script);
    if (fd == -1)
        return true;
    const char *obstacle = find_obstacle(fd, path);
    close(fd);
    if (obstacle == NULL)
        return true;
    if (is_script)
        snprintf(reason, TARGET_REASON_BYTES, "is run by %s, which %s", path, obstacle);
    else
        snprintf(reason, TARGET_REASON_BYTES, "%s", obstacle);
    return false;
}
