# How targets of this project are declared. One library, and one test program, per
# folder.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A precompiled header is read after its macros and time stamps were checked.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# No fused multiply-add: an expression has the same bits on every processor.
add_compile_options(-ffp-contract=off)
# gRPC asks for it; a precompiled header is for sources of the same options.
add_compile_options(-pthread)

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

# Compiling a test takes longer than running it, and a failed expectation names its
# line: tests of the dev build are hardly optimised and have no debug information. Only
# a Debug or sanitizer build has it.
set(SORTITION_TEST_OPTIONS)
if(CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo AND NOT SORTITION_SANITIZE)
  set(SORTITION_TEST_OPTIONS -Og -g0)
endif()
# How many times longer tests wait for what does not come at once.
set(SORTITION_PATIENCE 1)
if(SORTITION_SANITIZE)
  set(SORTITION_PATIENCE 8)
endif()

# sortition_precompiled(NAME HEADER [OPTIONS o ...] [DEPS t ...]): the headers of
# others that most sources include, compiled once with these options; targets get
# them by sortition_use_precompiled().
function(sortition_precompiled name header)
  if(NOT SORTITION_PRECOMPILE)
    return()
  endif()
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  cmake_parse_arguments(arg "" "" "OPTIONS;DEPS" ${ARGN})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} sortition_warnings absl::status absl::statusor
    absl::str_format absl::strings Eigen3::Eigen protobuf::libprotobuf)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
endfunction()

function(sortition_use_precompiled target precompiled)
  if(SORTITION_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

# Generated sources: no warnings, but the options that the precompiled header has.
function(sortition_generated target)
  target_link_libraries(${target} PRIVATE sortition_warnings)
  target_compile_options(${target} PRIVATE -w)
  sortition_use_precompiled(${target} sortition_precompiled)
endfunction()

# sortition_library(NAME SRCS a.cc ... DEPS t ...): library sortition_NAME, alias
# sortition::NAME. Without SRCS it is header-only.
function(sortition_library name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  if(arg_SRCS)
    add_library(sortition_${name} STATIC ${arg_SRCS})
    target_include_directories(sortition_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(sortition_${name} PUBLIC ${arg_DEPS} PRIVATE sortition_warnings)
    sortition_use_precompiled(sortition_${name} sortition_precompiled)
  else()
    add_library(sortition_${name} INTERFACE)
    target_include_directories(sortition_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(sortition_${name} INTERFACE ${arg_DEPS})
  endif()
  add_library(sortition::${name} ALIAS sortition_${name})
endfunction()

# sortition_hot_loops(SRCS a.cc ... OPTIONS o ...): sources of a library that the
# compiler vectorises. With a precompiled header GCC would silently optimise them as
# it did the header.
function(sortition_hot_loops)
  cmake_parse_arguments(arg "" "" "SRCS;OPTIONS" ${ARGN})
  set(options -O3 ${arg_OPTIONS})
  set_source_files_properties(${arg_SRCS} PROPERTIES
    COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# sortition_binary(NAME SRCS main.cc DEPS t ...): a program NAME in bin/.
function(sortition_binary name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} sortition_warnings)
  sortition_use_precompiled(${name} sortition_precompiled)
endfunction()

# sortition_bench(NAME SRCS a.cc ... DEPS t ...): the benchmark bench_NAME. Built
# when it is named, or by the target `benchmarks`, which builds all of them.
add_custom_target(benchmarks)
function(sortition_bench name)
  sortition_binary(bench_${name} ${ARGN})
  set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks bench_${name})
endfunction()

# sortition_tests(NAME SRCS a_test.cc ... DEPS t ... [LABELS l ...]): the test
# program test_NAME of a folder; each of its suites is one ctest.
function(sortition_tests name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS;LABELS" ${ARGN})
  set(target test_${name})
  add_executable(${target} ${arg_SRCS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${arg_DEPS} sortition_warnings
    GTest::gmock GTest::gtest_main)
  target_compile_options(${target} PRIVATE ${SORTITION_TEST_OPTIONS})
  sortition_use_precompiled(${target} sortition_precompiled_tests)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DPREFIX=${name}
      -DLABELS=${arg_LABELS} -DBINARIES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
      -DPATIENCE=${SORTITION_PATIENCE} -DOUTPUT=${suites} -P ${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake
    BYPRODUCTS ${suites} VERBATIM)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
