# The one file of the driver that knows sockets.
set_source_files_properties(driver/face.c PROPERTIES COMPILE_DEFINITIONS _POSIX_C_SOURCE=200809L)

# librondo, the C client: what rondo.h declares is seen, nothing else.  And what is installed.
add_library(rondo_client SHARED base/fail/driver.c)
set_target_properties(rondo_client PROPERTIES OUTPUT_NAME rondo EXPORT_NAME rondo
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/driver/rondo.map)
target_link_libraries(rondo_client PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,driver>")
target_link_options(rondo_client PRIVATE
  "LINKER:--version-script=${CMAKE_SOURCE_DIR}/driver/rondo.map")
target_include_directories(rondo_client INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/driver> $<INSTALL_INTERFACE:include>)

# Relocatable: nothing installed names the place where it was installed.
include(CMakePackageConfigHelpers)
configure_file(cmake/rondo.pc.in rondo.pc @ONLY)
write_basic_package_version_file(rondo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS rondo_client EXPORT rondo LIBRARY DESTINATION lib)
install(EXPORT rondo FILE rondo-config.cmake NAMESPACE rondo:: DESTINATION lib/cmake/rondo)
install(FILES ${CMAKE_BINARY_DIR}/rondo-config-version.cmake DESTINATION lib/cmake/rondo)
install(FILES ${CMAKE_BINARY_DIR}/rondo.pc DESTINATION lib/pkgconfig)
install(FILES driver/rondo.h DESTINATION include)
foreach(program rondod rondo)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin)
  endif()
endforeach()
