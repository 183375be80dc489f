# How targets of this project are declared. One library per folder.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Warnings of our own code; linked PRIVATE, so that they stop at its border.
add_library(sortition_warnings INTERFACE)
target_compile_options(sortition_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<BOOL:${SORTITION_WERROR}>:-Werror>)

# Sanitizers apply to every target, generated code included.
if(SORTITION_SANITIZE)
  add_compile_options(-fsanitize=${SORTITION_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SORTITION_SANITIZE})
endif()

# sortition_library(NAME SRCS a.cc ... DEPS t ...): library sortition_NAME, alias
# sortition::NAME. Without SRCS it is header-only.
function(sortition_library name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  if(arg_SRCS)
    add_library(sortition_${name} STATIC ${arg_SRCS})
    target_include_directories(sortition_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(sortition_${name} PUBLIC ${arg_DEPS} PRIVATE sortition_warnings)
  else()
    add_library(sortition_${name} INTERFACE)
    target_include_directories(sortition_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(sortition_${name} INTERFACE ${arg_DEPS})
  endif()
  add_library(sortition::${name} ALIAS sortition_${name})
endfunction()

# sortition_binary(NAME SRCS main.cc DEPS t ...): a program NAME in bin/.
function(sortition_binary name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} sortition_warnings)
endfunction()

# sortition_test(PATH DEPS t ... [LABELS l ...] [TIMEOUT s]): PATH.cc below tests/
# is one test program and one ctest of that name.
function(sortition_test path)
  cmake_parse_arguments(arg "" "TIMEOUT" "DEPS;LABELS" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  add_executable(${name} ${path}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} sortition_warnings
    GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${path} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  set_tests_properties(${path} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "SORTITION_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()
