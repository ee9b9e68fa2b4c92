/* Copies a shared object without some of its exported symbols, as a driver without them is:

     hide_symbols FROM TO SYMBOL...

   The names stay in the table, as references that nobody resolves. */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *bytes;

static bool read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    size_t size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size);
    bool is_read = bytes != NULL && fread(bytes, 1, size, file) == size;
    fclose(file);
    return is_read;
}

static bool write_file(const char *from, const char *to)
{
    FILE *file = fopen(from, "rb");
    FILE *copy = fopen(to, "wb");
    if (file == NULL || copy == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    size_t size = (size_t)ftell(file);
    fclose(file);
    bool is_written = fwrite(bytes, 1, size, copy) == size;
    return fclose(copy) == 0 && is_written;
}

static const Elf64_Shdr *section(Elf64_Word type)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Shdr *sections = (const void *)(bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type == type)
            return &sections[i];
    return NULL;
}

static bool hide(const Elf64_Shdr *table, const char *name)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Shdr *sections = (const void *)(bytes + header->e_shoff);
    const char *strings = bytes + sections[table->sh_link].sh_offset;
    Elf64_Sym *symbols = (void *)(bytes + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (symbols[i].st_shndx == SHN_UNDEF ||
            strcmp(strings + symbols[i].st_name, name) != 0)
            continue;
        symbols[i].st_shndx = SHN_UNDEF;
        symbols[i].st_value = 0;
        /* Weak, or the loader would look for it. */
        symbols[i].st_info = ELF64_ST_INFO(STB_WEAK, STT_NOTYPE);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 4 || !read_file(argv[1]))
        return 2;
    const Elf64_Shdr *table = section(SHT_DYNSYM);
    if (table == NULL)
        return 2;
    for (int i = 3; i < argc; i++) {
        if (!hide(table, argv[i])) {
            fprintf(stderr, "hide_symbols: %s does not export %s\n", argv[1], argv[i]);
            return 1;
        }
    }
    return write_file(argv[1], argv[2]) ? 0 : 2;
}
