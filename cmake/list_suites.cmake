# Writes OUTPUT: one add_test() for each suite of the test program PROGRAM, its name
# behind PREFIX. A process per case would take longer to start than to run.
# usage: cmake -DPROGRAM=.. -DPREFIX=.. -DLABELS=.. -DBINARIES=.. -DPATIENCE=..
#   -DOUTPUT=.. -P list_suites.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests exited ${status}")
endif()
math(EXPR timeout "900 * ${PATIENCE}")
set(text "")
string(REPLACE "\n" ";" lines "${listed}")
foreach(line IN LISTS lines)
  # "Suite." or "Instantiation/Suite.", perhaps with a comment; cases are indented.
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.( .*)?$")
    set(suite ${CMAKE_MATCH_1})
    string(APPEND text
      "add_test(\"${PREFIX}.${suite}\" \"${PROGRAM}\" \"--gtest_filter=${suite}.*\")\n"
      "set_tests_properties(\"${PREFIX}.${suite}\" PROPERTIES TIMEOUT ${timeout}\n"
      "  LABELS \"${LABELS}\"\n"
      "  ENVIRONMENT \"SORTITION_BIN=${BINARIES};SORTITION_PATIENCE=${PATIENCE}\")\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${text}")
