# What is installed: rondod, rondo, the driver library; and the programs that show and measure them.
if(TARGET llhttp AND EXISTS ${CMAKE_SOURCE_DIR}/node/main.c)
  target_link_libraries(node PUBLIC llhttp)
  add_executable(rondod node/main.c node/tool_machine.c)
  set_source_files_properties(node/tool_machine.c PROPERTIES COMPILE_DEFINITIONS _GNU_SOURCE)
  target_link_libraries(rondod PRIVATE node world_uv fail_server)
  # The daemon's allocator, where there is one; sanitizers bring their own.
  find_package(mimalloc QUIET)
  if(mimalloc_FOUND AND NOT SANITIZE)
    target_link_libraries(rondod PRIVATE mimalloc)
    # Optimized across files, nothing seems to call it when the linker drops what is not called.
    target_link_options(rondod PRIVATE LINKER:--no-as-needed)
  endif()
endif()

# rondo has the driver inside, so a broken invariant comes back to a public call or to main.
if(EXISTS ${CMAKE_SOURCE_DIR}/command/main.c)
  target_compile_definitions(command PRIVATE _GNU_SOURCE)
  add_executable(rondo command/main.c)
  target_link_libraries(rondo PRIVATE command world_uv fail_driver) # `sweep` runs a store itself
endif()

# The floor of `rondo bench`, which looks for it beside itself.
if(EXISTS ${CMAKE_SOURCE_DIR}/tests/bench/echo.c)
  add_executable(rondo-echo tests/bench/echo.c)
  target_compile_definitions(rondo-echo PRIVATE _GNU_SOURCE)
  target_link_libraries(rondo-echo PRIVATE rules PkgConfig::UV)
endif()

# The part of deploy/demo that is done with the C driver.
if(EXISTS ${CMAKE_SOURCE_DIR}/deploy/walk.c)
  add_executable(demo_walk deploy/walk.c)
  target_compile_definitions(demo_walk PRIVATE _GNU_SOURCE)
  target_link_libraries(demo_walk PRIVATE driver fail_driver)
endif()
