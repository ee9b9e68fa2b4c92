/* The least that LD_AUDIT asks of a library. */
unsigned la_version(unsigned version);

unsigned la_version(unsigned version)
{
    return version;
}
