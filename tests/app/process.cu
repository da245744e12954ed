// process: how programs live and die around a GPU: exit in the middle of a kernel, closed standard files, daemons, fork after
// initialisation, children of system() and vfork(), SIGINT and SIGTERM. The program runs itself once for each, and looks at what came of it.
#include "app.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void add_one(int *p) { atomicAdd(p, 1); }
__global__ void forever(volatile int *p)
{
    while (*p == 0)
        ;
}

static int works() // 0: a launch gave what it should
{
    int *p, sum = 0;
    if (cudaMalloc(&p, sizeof(int)) || cudaMemset(p, 0, sizeof(int)))
        return 1;
    add_one<<<10, 32>>>(p);
    return cudaMemcpy(&sum, p, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess || sum != 320 || cudaFree(p) != cudaSuccess;
}

static void start_forever()
{
    int *p;
    OK(cudaMalloc(&p, sizeof(int)));
    OK(cudaMemset(p, 0, sizeof(int)));
    forever<<<1, 32>>>(p);
    OK(cudaGetLastError());
}

static int plain(const char *) { return works(); }

static int exit_in_kernel(const char *)
{
    start_forever();
    exit(7);
}

static int quick_exit_in_kernel(const char *)
{
    start_forever();
    _exit(8);
}

static int killed(const char *signal_number)
{
    start_forever();
    kill(getpid(), atoi(signal_number));
    cudaDeviceSynchronize();
    return 1;
}

static int closed_files(const char *)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    if (works())
        return 1;
    int fd = open("/dev/null", O_WRONLY); // the program gets the lowest numbers, as without heddle
    return fd == 0 && works() == 0 ? 0 : 2;
}

static int closed_all(const char *)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return works();
}

static int daemon_child(const char *path)
{
    if (daemon(1, 1))
        return 1;
    int result = works();
    FILE *f = fopen(path, "w");
    if (f)
        fprintf(f, "%d", result);
    return f && fclose(f) == 0 ? 0 : 1;
}

static int fork_after_use(const char *)
{
    if (works())
        return 1;
    pid_t child = fork();
    if (child == 0) { // CUDA cannot be used in a child of a process that used it: an error, and no crash or endless wait
        int *p;
        cudaError_t err = cudaMalloc(&p, 4);
        exit(err == cudaSuccess ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status != 0 || works();
}

static int shell(const char *self)
{
    char command[4200];
    snprintf(command, sizeof command, "'%s' plain", self);
    return works() || system(command) != 0;
}

static const struct {
    const char *name;
    int (*run)(const char *);
    int status; // as waitpid gives it
} modes[] = {
    {"plain", plain, 0},
    {"exit in a kernel", exit_in_kernel, 7 << 8},
    {"_exit in a kernel", quick_exit_in_kernel, 8 << 8},
    {"killed by 2", killed, SIGINT},
    {"killed by 15", killed, SIGTERM},
    {"closed 0 1 2", closed_files, 0},
    {"closed all", closed_all, 0},
    {"fork after use", fork_after_use, 0},
    {"system", shell, 0},
    {"daemon", daemon_child, 0},
};

static void wait_for_file(const char *path)
{
    char text[8] = "";
    for (int i = 0; i < 600 && !text[0]; i++) {
        FILE *f = fopen(path, "r");
        if (f && !fgets(text, sizeof text, f))
            text[0] = 0;
        if (f)
            fclose(f);
        usleep(100 * 1000);
    }
    EXPECT(strcmp(text, "0") == 0, "the daemon said '%s'", text);
    unlink(path);
}

int main(int argc, char **argv)
{
    char self[4096] = "", path[64];
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    for (auto &m : modes)
        if (argc > 1 && strcmp(argv[1], m.name) == 0)
            return m.run(argc > 2 ? argv[2] : self);
    snprintf(path, sizeof path, "/tmp/heddle-process.%d", (int)getpid());
    for (auto &m : modes) {
        const char *argument = strcmp(m.name, "daemon") == 0 ? path : m.run == killed ? m.name + strlen("killed by ") : self;
        pid_t child = fork();
        if (child == 0) {
            signal(SIGINT, SIG_DFL);
            execl(self, self, m.name, argument, (char *)nullptr);
            _exit(99);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT(status == m.status, "%s: status %x, not %x", m.name, status, m.status);
    }
    wait_for_file(path);
    EXPECT(works() == 0, "the parent itself");
    return app_verdict();
}
