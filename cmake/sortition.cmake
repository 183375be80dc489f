# How targets of this project are declared: one library per folder, one test program per
# top-level folder of tests.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/ccache.sh ${CCACHE})
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
  # In a batch every source is an included file, which this warning takes for a header.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${SORTITION_UNITY}>>:-Wno-subobject-linkage>
  $<$<BOOL:${SORTITION_WERROR}>:-Werror>)

# Sanitizers apply to every target. The checks of every pointer are left out of "undefined":
# they cost twice the compile time of the rest together, and AddressSanitizer sees what most of
# them would find.
if(SORTITION_SANITIZE)
  add_compile_options(-fsanitize=${SORTITION_SANITIZE} -fno-omit-frame-pointer)
  if(SORTITION_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,alignment,object-size,vptr,pointer-overflow)
  endif()
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

# Generated sources: no warnings and, in builds for development, little optimisation. They
# are compiled in batches, too: protoc gives two file-scope names to every file, which a
# macro makes unique. The headers of Protobuf use one of the names as a member, before the
# macro exists; a header that used it later would not compile.
function(sortition_generated target)
  target_link_libraries(${target} PRIVATE sortition_warnings)
  target_compile_options(${target} PRIVATE -w)
  if(CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo)
    target_compile_options(${target} PRIVATE -O1 -g0)
  endif()
  if(SORTITION_SANITIZE MATCHES address)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${SORTITION_UNITY} UNITY_BUILD_BATCH_SIZE 11
    UNITY_BUILD_UNIQUE_ID SORTITION_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#undef SORTITION_PASTE_2
#undef SORTITION_PASTE
#undef schemas
#undef file_default_instances
#define SORTITION_PASTE_2(name, file) name##file
#define SORTITION_PASTE(name, file) SORTITION_PASTE_2(name, file)
#define schemas SORTITION_PASTE(schemas_, SORTITION_FILE)
#define file_default_instances SORTITION_PASTE(file_default_instances_, SORTITION_FILE)")
endfunction()

# Compiles the sources of `target` in batches: one translation unit includes up to
# `batch_size` of them, so that the headers that they share are parsed once.
function(sortition_use_unity target batch_size)
  if(SORTITION_UNITY)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch_size})
  endif()
endfunction()

# Compiles the sources of `target` that SORTITION_ALONE lists, relative to the root of the
# project, by themselves.
function(sortition_keep_alone target)
  foreach(source IN LISTS SORTITION_ALONE)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${source}
      TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# sortition_library(NAME SRCS a.cc ... DEPS t ...): library sortition_NAME, alias
# sortition::NAME. Without SRCS it is header-only.
function(sortition_library name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  if(arg_SRCS)
    list(TRANSFORM arg_SRCS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/
      REGEX "^[^/]")
    add_library(sortition_${name} STATIC ${arg_SRCS})
    target_include_directories(sortition_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(sortition_${name} PUBLIC ${arg_DEPS} PRIVATE sortition_warnings)
    if(name MATCHES "^core_")
      sortition_use_precompiled(sortition_${name} sortition_precompiled)
    else()
      sortition_use_precompiled(sortition_${name} sortition_precompiled_messages)
    endif()
    sortition_use_unity(sortition_${name} 10)
    sortition_keep_alone(sortition_${name})
  else()
    add_library(sortition_${name} INTERFACE)
    target_include_directories(sortition_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(sortition_${name} INTERFACE ${arg_DEPS})
  endif()
  add_library(sortition::${name} ALIAS sortition_${name})
endfunction()

# sortition_hot_loops(LIBRARY SRCS a.cc ... OPTIONS o ...): compiles these sources of
# sortition_LIBRARY with -O3, in batches of their own. They use no precompiled header,
# because GCC would silently optimise them with the options of the header.
function(sortition_hot_loops library)
  cmake_parse_arguments(arg "" "" "SRCS;OPTIONS" ${ARGN})
  list(TRANSFORM arg_SRCS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(owner sortition_${library})
  get_target_property(sources ${owner} SOURCES)
  list(REMOVE_ITEM sources ${arg_SRCS})
  set_target_properties(${owner} PROPERTIES SOURCES "${sources}" LINKER_LANGUAGE CXX)
  string(MD5 hash "${arg_OPTIONS}")
  string(SUBSTRING ${hash} 0 4 hash)
  set(hot ${owner}_hot_${hash})
  add_library(${hot} OBJECT ${arg_SRCS})
  target_compile_options(${hot} PRIVATE -O3 ${arg_OPTIONS})
  target_include_directories(${hot} PRIVATE $<TARGET_PROPERTY:${owner},INCLUDE_DIRECTORIES>)
  get_target_property(dependencies ${owner} LINK_LIBRARIES)
  target_link_libraries(${hot} PRIVATE ${dependencies})
  sortition_use_unity(${hot} 8)
  sortition_keep_alone(${hot})
  target_sources(${owner} PRIVATE $<TARGET_OBJECTS:${hot}>)
endfunction()

# sortition_binary(NAME SRCS main.cc DEPS t ...): a program NAME in bin/.
function(sortition_binary name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} sortition_warnings)
  sortition_use_precompiled(${name} sortition_precompiled_messages)
endfunction()

# sortition_bench(NAME SRCS a.cc ... DEPS t ...): the benchmark bench_NAME. Built
# when it is named, or by the target `benchmarks`, which builds all of them.
add_custom_target(benchmarks)
function(sortition_bench name)
  sortition_binary(bench_${name} ${ARGN})
  set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks bench_${name})
endfunction()

# sortition_room(NAME t ...): the target room_NAME builds what `./dev test NAME` runs.
function(sortition_room name)
  add_custom_target(room_${name})
  if(ARGN)
    add_dependencies(room_${name} ${ARGN})
  endif()
endfunction()

# sortition_script_test(ROOM.NAME COMMAND c ... [GROUP g] [TIMEOUT s] [PROCESSORS n]): a
# test that is a script, run in the current folder. A script that cannot run prints
# "skipped: REASON; COMMAND THAT HELPS" and exits with 77. The labels of the test are its
# room, its folder and group:GROUP if its needs are large (tools/packages.txt).
function(sortition_script_test name)
  cmake_parse_arguments(arg "" "GROUP;TIMEOUT;PROCESSORS" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
    BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE folder)
  string(REGEX MATCH "^[^/]+" room ${folder})
  set(labels ${room} ${folder})
  list(REMOVE_DUPLICATES labels)
  set(timeout 900)
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  set(processors 1)
  if(arg_PROCESSORS)
    set(processors ${arg_PROCESSORS})
  endif()
  if(arg_GROUP)
    list(APPEND labels group:${arg_GROUP})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout}
    PROCESSORS ${processors} SKIP_RETURN_CODE 77
    ENVIRONMENT "SORTITION_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};SORTITION_PATIENCE=${SORTITION_PATIENCE};SORTITION_SOURCES=${PROJECT_SOURCE_DIR}")
endfunction()

# sortition_test_room(NAME [DEPENDS t ...]): the test program test_NAME of a folder
# tests/NAME and the folders below it. Each of its suites is one ctest NAME.SUITE with
# the labels NAME and that of the suite's folder, such as core/policies. DEPENDS are
# targets that the tests run.
function(sortition_test_room name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  set(target test_${name})
  add_executable(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE sortition_warnings GTest::gmock GTest::gtest_main)
  target_compile_options(${target} PRIVATE ${SORTITION_TEST_OPTIONS})
  sortition_use_precompiled(${target} sortition_precompiled_tests)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
    UNITY_BUILD ${SORTITION_UNITY} UNITY_BUILD_MODE GROUP)
  if(arg_DEPENDS)
    add_dependencies(${target} ${arg_DEPENDS})
  endif()
  sortition_room(${name} ${target})
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/list_suites.py
      --program=$<TARGET_FILE:${target}> --room=${name} --sources=${PROJECT_SOURCE_DIR}
      --needs=${PROJECT_SOURCE_DIR}/tests/needs.txt
      --binaries=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
      --patience=${SORTITION_PATIENCE} --output=${suites}
    BYPRODUCTS ${suites} VERBATIM)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
    ${PROJECT_SOURCE_DIR}/tests/needs.txt ${PROJECT_SOURCE_DIR}/cmake/list_suites.py)
  # A room that was not built has no suites yet.
  file(CONFIGURE OUTPUT ${suites}.optional CONTENT "include(\"${suites}\" OPTIONAL)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites}.optional)
endfunction()

# sortition_tests(SRCS a_test.cc ... DEPS t ...): adds tests to the
# program of their room, the folder of tests/ that they are in. Sources of a folder
# are compiled in batches.
function(sortition_tests)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
    BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE folder)
  string(REGEX MATCH "^[^/]+" room ${folder})
  set(target test_${room})
  list(TRANSFORM arg_SRCS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(${target} PRIVATE ${arg_SRCS})
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  string(MAKE_C_IDENTIFIER ${folder} group)
  # A folder may call this several times.
  get_property(index DIRECTORY PROPERTY sortition_num_tests)
  if(NOT index)
    set(index 0)
  endif()
  foreach(source IN LISTS arg_SRCS)
    math(EXPR batch "${index} / 12")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
      PROPERTIES UNITY_GROUP ${group}_${batch})
    math(EXPR index "${index} + 1")
  endforeach()
  set_property(DIRECTORY PROPERTY sortition_num_tests ${index})
  sortition_keep_alone(${target})
endfunction()
