#include "tools/tidemark/compare_stamp.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/tidemark/printable.h"
#include "tools/tidemark/say.h"

/* Variables that change how memory is allocated, or which libraries are. */
static const char *const prefixes[] = {
    "TIDEMARK",  "LD_",       "MALLOC_",   "GLIBC_TUNABLES=",
    "JE_MALLOC", "MIMALLOC_", "TCMALLOC_", "SIMCUDA_",
    "CUDA_",     "OMP_",      "GOMP_",
};

/* Where execvp would find it; NULL when nowhere. To be freed. */
static char *find_executable(const char *name)
{
    const char *path = getenv("PATH");
    char *folders = strdup(path == NULL ? "/bin:/usr/bin" : path);
    char *rest = NULL, *found = NULL;

    if (strchr(name, '/') != NULL) {
        free(folders);
        return realpath(name, NULL);
    }
    for (char *folder = folders == NULL ? NULL : strtok_r(folders, ":", &rest);
         folder != NULL && found == NULL; folder = strtok_r(NULL, ":", &rest)) {
        char *candidate;
        if (asprintf(&candidate, "%s/%s", folder, name) == -1)
            break;
        if (access(candidate, X_OK) == 0)
            found = realpath(candidate, NULL);
        free(candidate);
    }
    free(folders);
    return found;
}

/* Adds a file to the list, by what changes when it is built anew. */
static void add_file(json_t *files, char *path)
{
    struct stat file;

    if (path != NULL && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
        (file.st_mode & S_IXUSR) != 0)
        json_array_append_new(files,
                              json_pack("{s:s, s:I, s:I}", "path", path, "bytes",
                                        (json_int_t)file.st_size, "modified_ns",
                                        (json_int_t)file.st_mtim.tv_sec * 1000000000 +
                                            (json_int_t)file.st_mtim.tv_nsec));
    free(path);
}

/* The program, and whatever else of the command and the settings is an executable file: what
   `tidemark run`, `env` or LD_PRELOAD will load. */
static json_t *files_of(const struct compare_arm *arm)
{
    json_t *files = json_array();

    add_file(files, find_executable(arm->command[0]));
    for (size_t i = 1; arm->command[i] != NULL; i++)
        if (strchr(arm->command[i], '/') != NULL)
            add_file(files, realpath(arm->command[i], NULL));
    for (size_t i = 0; i < arm->setting_count; i++)
        add_file(files, realpath(strchr(arm->settings[i], '=') + 1, NULL));
    return files;
}

static json_t *command_of(const struct compare_arm *arm)
{
    json_t *command = json_array();

    for (size_t i = 0; arm->command[i] != NULL; i++)
        json_array_append_new(command, json_string(arm->command[i]));
    return command;
}

static void put_variable(json_t *environment, const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    char *name = strndup(assignment, length);

    if (name != NULL && assignment[length] == '=')
        json_object_set_new(environment, name, json_string(assignment + length + 1));
    free(name);
}

/* The variables that matter, and those that the arm sets. */
static json_t *environment_of(const struct compare_arm *arm)
{
    json_t *environment = json_object();

    for (char **assignment = environ; *assignment != NULL; assignment++)
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            if (strncmp(*assignment, prefixes[i], strlen(prefixes[i])) == 0)
                put_variable(environment, *assignment);
    for (size_t i = 0; i < arm->setting_count; i++)
        put_variable(environment, arm->settings[i]);
    return environment;
}

static json_int_t processors(void)
{
    cpu_set_t allowed;

    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

json_t *compare_stamp_of(const struct compare_arm *arm)
{
    struct utsname machine = {.release = ""};
    char folder[PATH_MAX] = "";

    uname(&machine);
    if (getcwd(folder, sizeof folder) == NULL)
        folder[0] = '\0';
    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o}", "tidemark",
                     TIDEMARK_VERSION, "machine", machine.nodename, "kernel",
                     machine.release, "processors", processors(), "folder", folder,
                     "command", command_of(arm), "files", files_of(arm), "environment",
                     environment_of(arm));
}

/* Fields that cannot be what is compared. */
static const char *const fixed[] = {"tidemark", "machine", "kernel", "processors",
                                    "folder"};
static const char *const required[] = {"tidemark", "machine", "kernel", "processors",
                                       "folder",   "command", "files",  "environment"};

static bool is_complete(const json_t *stamp)
{
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (json_object_get(stamp, required[i]) == NULL) {
            say("compare: a stamp has no %s", required[i]);
            return false;
        }
    return true;
}

/* The differences, by name. */
struct differences {
    size_t count;
    char text[512];
};

static void add_difference(struct differences *differences, const char *kind,
                           const char *name)
{
    size_t used = strlen(differences->text);

    snprintf(differences->text + used, sizeof differences->text - used, "%s%s%s",
             differences->count > 0 ? ", " : "", kind, name);
    make_printable(differences->text + used);
    differences->count++;
}

static void compare_environments(json_t *a, json_t *b, struct differences *differences)
{
    const char *name;
    json_t *value;

    json_object_foreach(a, name, value) if (!json_equal(value, json_object_get(b, name)))
        add_difference(differences, "", name);
    json_object_foreach(b, name, value) if (json_object_get(a, name) == NULL)
        add_difference(differences, "", name);
}

bool compare_stamp_differ_in_one(const json_t *a, const json_t *b, char **what)
{
    struct differences differences = {.text = ""};

    if (!is_complete(a) || !is_complete(b))
        return false;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (!json_equal(json_object_get(a, fixed[i]), json_object_get(b, fixed[i]))) {
            say("compare: A and B are of another %s each", fixed[i]);
            return false;
        }
    bool is_same_command =
        json_equal(json_object_get(a, "command"), json_object_get(b, "command"));
    if (!is_same_command)
        add_difference(&differences, "the command", "");
    compare_environments(json_object_get(a, "environment"),
                         json_object_get(b, "environment"), &differences);
    /* Files follow from the command and the settings; alone they are another build. */
    if (differences.count == 0 &&
        !json_equal(json_object_get(a, "files"), json_object_get(b, "files")))
        add_difference(&differences, "the build", "");
    if (differences.count > 1) {
        say("compare: A and B differ in more than one thing: %s", differences.text);
        return false;
    }
    *what = strdup(differences.count == 0 ? "nothing: a control" : differences.text);
    return *what != NULL;
}
