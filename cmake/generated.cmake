# Sources that a tool writes: targets of their own, without our warning flags.

# The CQL grammar: re2c makes the scanner, lemon the parser.
if(EXISTS ${CMAKE_SOURCE_DIR}/cql/parser.y)
  find_program(RE2C re2c REQUIRED)
  find_program(LEMON lemon REQUIRED)
  set(made ${CMAKE_BINARY_DIR}/generated/cql)
  file(MAKE_DIRECTORY ${made})
  add_custom_command(OUTPUT ${made}/parser.c ${made}/parser.h
    COMMAND ${LEMON} -q -d${made} ${CMAKE_SOURCE_DIR}/cql/parser.y
    DEPENDS ${CMAKE_SOURCE_DIR}/cql/parser.y VERBATIM)
  add_custom_command(OUTPUT ${made}/lexer.c
    COMMAND ${RE2C} --no-debug-info -i -o ${made}/lexer.c ${CMAKE_SOURCE_DIR}/cql/lexer.re
    DEPENDS ${CMAKE_SOURCE_DIR}/cql/lexer.re ${made}/parser.h VERBATIM)
  # Objects inside cql: grammar and ast.c call each other.  It only borrows the include paths of
  # what it stands on, since linking it would bring our warning flags.
  add_library(cql_grammar OBJECT ${made}/parser.c ${made}/lexer.c)
  target_include_directories(cql_grammar PRIVATE ${made})
  foreach(folder base model wire cql)
    target_include_directories(cql_grammar PRIVATE ${CMAKE_BINARY_DIR}/see/${folder})
  endforeach()
  target_link_libraries(cql_grammar PRIVATE sanitize)
  target_sources(cql PRIVATE $<TARGET_OBJECTS:cql_grammar>)
endif()

# The HTTP parser of Node.js, which Debian ships as C sources.
find_path(LLHTTP_INCLUDE llhttp.h PATHS /usr/share/include/llhttp /usr/include)
find_path(LLHTTP_SOURCE llhttp.c PATHS /usr/share/llhttp)
if(LLHTTP_SOURCE)
  add_library(llhttp STATIC ${LLHTTP_SOURCE}/llhttp.c ${LLHTTP_SOURCE}/api.c ${LLHTTP_SOURCE}/http.c)
  target_include_directories(llhttp PUBLIC ${LLHTTP_INCLUDE})
  target_link_libraries(llhttp PRIVATE sanitize)
endif()
