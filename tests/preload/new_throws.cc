// operator new keeps its contract: it throws, honours alignment, and its nothrow form gives null.
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

struct alignas(256) Wide {
    char bytes[512];
};

int main()
{
    int caught = 0;
    try {
        std::vector<char> hopeless(size_t(1) << 60);
        std::printf("%zu\n", hopeless.size());
    } catch (const std::bad_alloc &) {
        caught++;
    }
    if (::operator new(size_t(1) << 62, std::nothrow) == nullptr)
        caught++;
    Wide *wide = new Wide[1000];
    bool aligned = reinterpret_cast<uintptr_t>(wide) % 256 == 0;
    delete[] wide;
    std::vector<int> grown;
    for (int i = 0; i < 10000000; i++)
        grown.push_back(i);
    std::printf("%d %d %d\n", caught, aligned, grown[9999999]);
}
