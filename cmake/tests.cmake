# One program and one ctest entry per suite.  A suite lives in tests/unit/<module>/test_<noun>.c and
# is linked with that module and the simulated world; tests/unit/io_uv/ is linked with the real one.
# Its target is test_<module>_<noun>, since two modules may have a file of the same noun.
pkg_check_modules(CHECK REQUIRED IMPORTED_TARGET check)
pkg_check_modules(MURMUR REQUIRED IMPORTED_TARGET libmurmurhash)
find_package(Threads REQUIRED)

# suite(LABEL FILE LIBS...)
set(fail_answer fail_server)
function(suite label file)
  get_filename_component(noun ${file} NAME_WE)
  get_filename_component(module ${file} DIRECTORY)
  get_filename_component(module ${module} NAME)
  string(REPLACE test_ test_${module}_ name ${noun})
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE ${ARGN} ${fail_answer} rules PkgConfig::CHECK)
  target_compile_definitions(${name} PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  # Check's own patience is for an idle machine without sanitizers.
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 300
    FAIL_REGULAR_EXPRESSION "Checks: 0" ENVIRONMENT "CK_TIMEOUT_MULTIPLIER=20")
endfunction()

foreach(module base model sstable wire config cql driver)
  file(GLOB files CONFIGURE_DEPENDS tests/unit/${module}/test_*.c)
  foreach(file ${files})
    suite(unit ${file} ${module})
  endforeach()
endforeach()
target_link_libraries(test_base_murmur PRIVATE PkgConfig::MURMUR) # the oracle
foreach(noun golden golden_data) # they walk over folders
  if(TARGET test_sstable_${noun})
    target_compile_definitions(test_sstable_${noun} PRIVATE _GNU_SOURCE)
  endif()
endforeach()
set(fail_answer fail_driver)
suite(unit tests/unit/base_driver/test_fail.c base)
suite(unit tests/unit/driver_fail/test_memory.c driver)
target_link_options(test_driver_fail_memory PRIVATE
  LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
set(fail_answer fail_server)
foreach(module io store compaction cluster coordinator node)
  file(GLOB files CONFIGURE_DEPENDS tests/unit/${module}/test_*.c)
  foreach(file ${files})
    suite(unit ${file} ${module} world_sim)
  endforeach()
endforeach()
set_tests_properties(test_store_corrupt PROPERTIES TIMEOUT 7200) # RONDO_LONG=1: every bit
set_tests_properties(test_compaction_compactor_debt PROPERTIES TIMEOUT 7200) # ... an hour of load
file(GLOB files CONFIGURE_DEPENDS tests/unit/io_uv/test_*.c)
foreach(file ${files})
  suite("unit;threads" ${file} io world_uv)
endforeach()
set(fail_answer fail_driver) # as rondo is linked
file(GLOB files CONFIGURE_DEPENDS tests/unit/command/test_*.c)
foreach(file ${files})
  suite(unit ${file} command)
  get_filename_component(noun ${file} NAME_WE)
  string(REPLACE test_ test_command_ name ${noun})
  target_link_options(${name} PRIVATE LINKER:-u,fail_ensure) # even if only base asks for it
endforeach()
foreach(noun options table layout)
  target_compile_definitions(test_command_${noun} PRIVATE _GNU_SOURCE)
endforeach()
set(fail_answer fail_server)
if(NOT SANITIZE STREQUAL thread) # a simulated world is one thread
  add_subdirectory(tests/sim)
endif()
add_subdirectory(tests/fuzz)
add_executable(bench_store tests/bench/bench_store.c) # the engine alone; run by hand
target_link_libraries(bench_store PRIVATE store world_sim fail_server rules)
add_executable(bench_journal tests/bench/bench_journal.c) # the commit log alone; run by hand
target_link_libraries(bench_journal PRIVATE io world_uv fail_server rules)
add_executable(bench_replay tests/bench/bench_replay.c) # a whole store's replay; run by hand
target_compile_definitions(bench_replay PRIVATE _GNU_SOURCE)
target_link_libraries(bench_replay PRIVATE store world_uv fail_server rules)
if(mimalloc_FOUND AND NOT SANITIZE)
  target_link_libraries(bench_replay PRIVATE mimalloc)
  target_link_options(bench_replay PRIVATE LINKER:--no-as-needed)
endif()
# What a compaction adds to reads; run by hand.
add_executable(bench_beside tests/bench/bench_beside.c)
target_compile_definitions(bench_beside PRIVATE _GNU_SOURCE)
target_link_libraries(bench_beside PRIVATE store world_uv fail_server rules m)
if(mimalloc_FOUND AND NOT SANITIZE)
  target_link_libraries(bench_beside PRIVATE mimalloc)
  target_link_options(bench_beside PRIVATE LINKER:--no-as-needed)
endif()
# A client that asks for more than a node can do, and whether what it was told holds.
add_executable(rondo-overload tests/bench/overload.c)
target_compile_definitions(rondo-overload PRIVATE _GNU_SOURCE)
target_link_libraries(rondo-overload PRIVATE command fail_driver rules)
# A client of one partition that its node has no memory for.
add_executable(rondo-wide tests/bench/wide.c)
target_link_libraries(rondo-wide PRIVATE command fail_driver rules)
add_executable(bench_sstable tests/bench/bench_sstable.c) # the format alone; run by hand
target_link_libraries(bench_sstable PRIVATE sstable fail_server rules)

# The two sides of `rondo bench engine`, which looks for them beside itself: one shard's store by
# itself, with the daemon's allocator, and its peer, which nothing that is installed is linked with.
add_executable(rondo-engine tests/bench/engine_store.c)
target_compile_definitions(rondo-engine PRIVATE _GNU_SOURCE)
target_link_libraries(rondo-engine PRIVATE store world_uv fail_server rules)
if(mimalloc_FOUND AND NOT SANITIZE)
  target_link_libraries(rondo-engine PRIVATE mimalloc)
  target_link_options(rondo-engine PRIVATE LINKER:--no-as-needed)
endif()
add_custom_target(bench_engine DEPENDS rondo-engine)
# `rondo bench compaction` looks for it beside itself, too.
add_executable(rondo-compaction tests/bench/bench_compaction.c tests/bench/compaction_floor.c)
target_compile_definitions(rondo-compaction PRIVATE _GNU_SOURCE)
target_link_libraries(rondo-compaction PRIVATE store world_uv fail_server rules)
if(mimalloc_FOUND AND NOT SANITIZE)
  target_link_libraries(rondo-compaction PRIVATE mimalloc)
  target_link_options(rondo-compaction PRIVATE LINKER:--no-as-needed)
endif()
find_library(ROCKSDB rocksdb)
if(ROCKSDB)
  add_executable(rondo-rocksdb tests/bench/engine_rocksdb.c)
  target_compile_definitions(rondo-rocksdb PRIVATE _GNU_SOURCE)
  target_link_libraries(rondo-rocksdb PRIVATE ${ROCKSDB} base fail_server rules)
  add_dependencies(bench_engine rondo-rocksdb)
endif()

# What tests/oracle/run gives Cassandra to read.
add_executable(oracle_writer tests/oracle/writer.c)
target_compile_definitions(oracle_writer PRIVATE _GNU_SOURCE)
target_link_libraries(oracle_writer PRIVATE sstable fail_server rules)
set_target_properties(oracle_writer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
# ... and what compacts the files that Cassandra compacts beside it.
add_executable(oracle_compactor tests/oracle/compactor.c)
target_compile_definitions(oracle_compactor PRIVATE _GNU_SOURCE)
target_link_libraries(oracle_compactor PRIVATE store world_uv fail_server rules)
set_target_properties(oracle_compactor PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                  ${CMAKE_BINARY_DIR}/tests)
