# Ends each description.
set(what_it_is "Sortition ranks candidates and selects answers at random, knows the exact
probability of what it chose, and learns from the log of its decisions.")

# sortition_package(COMPONENT PACKAGE [PROGRAM p] SUMMARY s TEXT t SECTION s [CONFIG c ...]
#   [UNITS u ...] [SCRIPTS s] [DEPENDS d] [RECOMMENDS r] [SUGGESTS s]): a package with what all
# have, copyright, README.Debian and changelog, and for a program its binary, manual, completion,
# options in /etc/sortition (conffiles), units and maintainer scripts. TEXT goes on after the name
# of the package. SCRIPTS is the folder of other maintainer scripts.
set(components)

function(sortition_package component package)
  cmake_parse_arguments(arg ""
    "PROGRAM;SUMMARY;TEXT;SECTION;SCRIPTS;DEPENDS;RECOMMENDS;SUGGESTS" "CONFIG;UNITS" ${ARGN})
  string(TOUPPER ${component} upper)
  set(components ${components} ${component} PARENT_SCOPE)
  sortition_make_changelog(${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION
    "${arg_SUMMARY}\n${package} ${arg_TEXT}\n\n${what_it_is}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${arg_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${arg_RECOMMENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${arg_SUGGESTS}" PARENT_SCOPE)
  if(arg_SCRIPTS)
    file(GLOB scripts ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPTS}/*)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${scripts}" PARENT_SCOPE)
  endif()
  install(FILES copyright README.Debian DESTINATION ${doc}/${package} COMPONENT ${component})
  install(FILES ${made}/changelogs/${package}/changelog.gz DESTINATION ${doc}/${package}
    COMPONENT ${component})
  if(arg_PROGRAM)
    sortition_install_program(${component} ${arg_PROGRAM})
  else()
    set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  endif()
  if(arg_UNITS)
    sortition_install_service(${component} ${package} CONFIG ${arg_CONFIG} UNITS ${arg_UNITS})
    set(control ${PROJECT_BINARY_DIR}/control/${package})
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
      "${control}/conffiles;${control}/postinst;${control}/prerm;${control}/postrm" PARENT_SCOPE)
    # Makes the user, with or without systemd.
    set(user "systemd-standalone-sysusers | systemd-sysusers")
    string(JOIN ", " arg_DEPENDS ${arg_DEPENDS} ${user})
  endif()
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${arg_DEPENDS}" PARENT_SCOPE)
endfunction()

# Debian's changelog, which names the release; its time is SOURCE_DATE_EPOCH.
function(sortition_make_changelog package)
  set(folder ${made}/changelogs/${package})
  string(TIMESTAMP time "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(changelog.in ${folder}/changelog @ONLY)
  execute_process(COMMAND gzip --best --no-name --force ${folder}/changelog
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The stripped program with manual and completion.
function(sortition_install_program component program)
  install(PROGRAMS ${SORTITION_PROGRAMS}/${program} DESTINATION bin COMPONENT ${component})
  install(CODE "execute_process(COMMAND ${STRIP} --remove-section=.comment
    --remove-section=.note \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${program}
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
  set(manual ${made}/manual/${program})
  install(DIRECTORY ${manual}/man1 DESTINATION share/man COMPONENT ${component})
  install(DIRECTORY ${manual}/completions/ DESTINATION share/bash-completion/completions
    COMPONENT ${component})
endfunction()

# Options, units, user, and the maintainer scripts, which are the same but for their units.
function(sortition_install_service component package)
  cmake_parse_arguments(arg "" "" "CONFIG;UNITS" ${ARGN})
  set(control ${PROJECT_BINARY_DIR}/control/${package})
  set(conffiles)
  foreach(config ${arg_CONFIG})
    install(FILES etc/${config}.textproto DESTINATION /etc/sortition COMPONENT ${component})
    string(APPEND conffiles "/etc/sortition/${config}.textproto\n")
  endforeach()
  file(WRITE ${control}/conffiles "${conffiles}")
  # What an upgrade restarts. Not what works to an end, as a training does: it would be killed.
  set(RESTARTED)
  foreach(unit ${arg_UNITS})
    set(file ${sources}/deploy/systemd/${unit})
    install(FILES ${file} DESTINATION /lib/systemd/system COMPONENT ${component})
    if(unit MATCHES "[.]service$")
      install(FILES ${sources}/deploy/systemd/hardening.conf
        DESTINATION /lib/systemd/system/${unit}.d COMPONENT ${component})
    endif()
    file(STRINGS ${file} oneshot REGEX "^Type=oneshot$")
    if(NOT oneshot)
      string(APPEND RESTARTED " ${unit}")
    endif()
  endforeach()
  string(STRIP "${RESTARTED}" RESTARTED)
  install(FILES ${sources}/deploy/systemd/sysusers.conf DESTINATION lib/sysusers.d
    RENAME ${package}.conf COMPONENT ${component})
  list(JOIN arg_UNITS " " UNITS)
  set(PACKAGE ${package})
  foreach(script postinst prerm postrm)
    configure_file(${script}.in ${control}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
        WORLD_EXECUTE)
  endforeach()
endfunction()
