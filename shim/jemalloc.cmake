# The private jemalloc: the distribution's archive, without its C++ operators (libstdc++ forwards
# those to malloc, and can throw), every public symbol renamed, its memory system calls, its
# profiler's unwinder and mathematics, and its registration of fork handlers redirected to
# functions of ours. Where it maps memory for its own records (base) and allocates
# the cache of a thread (tcache) is told apart.
find_library(JEMALLOC_PIC NAMES libjemalloc_pic.a REQUIRED)

set(JEMALLOC_PUBLIC malloc calloc realloc free posix_memalign aligned_alloc memalign valloc
  malloc_usable_size mallocx rallocx xallocx sallocx dallocx sdallocx nallocx mallctl
  mallctlnametomib mallctlbymib malloc_stats_print malloc_conf malloc_conf_2_conf_harder
  malloc_message)
set(JEMALLOC_RENAMES "")
foreach(name ${JEMALLOC_PUBLIC})
  string(APPEND JEMALLOC_RENAMES "${name} jemalloc_${name}\n")
endforeach()
foreach(name mmap munmap madvise mprotect sbrk syscall exp log round)
  string(APPEND JEMALLOC_RENAMES "${name} shim_jemalloc_${name}\n")
endforeach()
string(APPEND JEMALLOC_RENAMES "secure_getenv shim_jemalloc_getenv\n"
  "readlink shim_jemalloc_readlink\n")
string(APPEND JEMALLOC_RENAMES "pthread_atfork shim_at_fork\n")
string(APPEND JEMALLOC_RENAMES "_Unwind_Backtrace shim_jemalloc_backtrace\n"
  "_Unwind_GetIP shim_jemalloc_get_ip\n")
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/jemalloc.renames CONTENT "${JEMALLOC_RENAMES}")

# What runs in every process lies together, so that little of the rest is mapped around it: the
# linker puts .text.hot first. Members that run seldom, and branches that the compiler took for
# unlikely, come last; stats and ctl have a word to say at the start, at the ends of their code:
# stats is the neighbour of what comes before, ctl of what the linker puts behind.
set(JEMALLOC_SELDOM stats prof_data prof_log prof_recent prof_stats prof_sys hpa hpa_hooks hpdata
  psset sec ckh malloc_io buf_writer log safety_check inspect pa_extra ctl)
list(TRANSFORM JEMALLOC_SELDOM APPEND .pic.o)
set(MAKE_SELDOM "")
foreach(member ${JEMALLOC_SELDOM})
  list(APPEND MAKE_SELDOM COMMAND ${CMAKE_OBJCOPY} --rename-section .text.hot=.text.seldom ${member})
endforeach()

add_library(jemalloc_place OBJECT jemalloc_place.S)
set(PRIVATE_JEMALLOC ${CMAKE_CURRENT_BINARY_DIR}/libjemalloc_private.a)
add_custom_command(
  OUTPUT ${PRIVATE_JEMALLOC}
  COMMAND ${CMAKE_COMMAND} -E copy ${JEMALLOC_PIC} ${PRIVATE_JEMALLOC}
  COMMAND ${CMAKE_AR} d ${PRIVATE_JEMALLOC} jemalloc_cpp.pic.o
  COMMAND ${CMAKE_AR} x ${PRIVATE_JEMALLOC} jemalloc.pic.o
  COMMAND ${CMAKE_LINKER} -r -o jemalloc_placed.o $<TARGET_OBJECTS:jemalloc_place> jemalloc.pic.o
  COMMAND ${CMAKE_COMMAND} -E rename jemalloc_placed.o jemalloc.pic.o
  COMMAND ${CMAKE_AR} r ${PRIVATE_JEMALLOC} jemalloc.pic.o
  COMMAND ${CMAKE_AR} x ${PRIVATE_JEMALLOC} base.pic.o tcache.pic.o
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym je_extent_alloc_mmap=shim_jemalloc_map_records base.pic.o
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym je_arena_palloc=shim_jemalloc_allocate_cache tcache.pic.o
  COMMAND ${CMAKE_AR} r ${PRIVATE_JEMALLOC} base.pic.o tcache.pic.o
  COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${CMAKE_CURRENT_BINARY_DIR}/jemalloc.renames
          --rename-section .text=.text.hot --rename-section .text.unlikely=.text.seldom
          ${PRIVATE_JEMALLOC}
  COMMAND ${CMAKE_AR} x ${PRIVATE_JEMALLOC} ${JEMALLOC_SELDOM}
  ${MAKE_SELDOM}
  COMMAND ${CMAKE_AR} d ${PRIVATE_JEMALLOC} ${JEMALLOC_SELDOM}
  COMMAND ${CMAKE_AR} q ${PRIVATE_JEMALLOC} ${JEMALLOC_SELDOM}
  DEPENDS ${JEMALLOC_PIC} ${CMAKE_CURRENT_BINARY_DIR}/jemalloc.renames
          jemalloc_place jemalloc_place.S
  COMMENT "Making the private jemalloc"
  VERBATIM)
add_custom_target(jemalloc_private DEPENDS ${PRIVATE_JEMALLOC})
