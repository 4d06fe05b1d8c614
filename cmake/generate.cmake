# What the build writes: the table of probes, and the JSON that is built in.

set(RD_GENERATED ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${RD_GENERATED})

# The table of probes: layers in their order, files by name inside one.
set(layers host hardware kernel device runtime framework engine)
set(declarations "")
set(rows "")
foreach(layer ${layers})
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/probes/${layer}/*.c)
  list(SORT files)
  foreach(file ${files})
    # A file name that begins with "common" is shared by the probes of its folder and is none itself.
    get_filename_component(base ${file} NAME_WE)
    if(base MATCHES "^common")
      continue()
    endif()
    string(REPLACE "-" "_" symbol "rd_probe_${layer}_${base}")
    string(APPEND declarations "extern const struct rd_probe ${symbol};\n")
    string(APPEND rows "\t&${symbol},\n")
  endforeach()
endforeach()
set(RD_PROBE_TABLE_SOURCE ${RD_GENERATED}/probe_table.c)
file(CONFIGURE OUTPUT ${RD_PROBE_TABLE_SOURCE} @ONLY CONTENT
"/* Written by cmake/generate.cmake from the files below probes/. */
#include \"rocm-doctor/probe.h\"

@declarations@
const struct rd_probe *const rd_probes[] = {
@rows@\tNULL,
};
const size_t rd_probes_n = sizeof(rd_probes) / sizeof(rd_probes[0]) - 1;
")

# The built-in JSON, each file as "kind/name.json".
file(GLOB rule_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/probes/*/rules.json)
file(GLOB fix_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fixes/*.json)
file(GLOB table_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/knowledge/tables/*.json)
file(GLOB profile_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/knowledge/profiles/*.json)
set(RD_EMBEDDED_SOURCE ${RD_GENERATED}/embedded.c)
add_custom_command(
  OUTPUT ${RD_EMBEDDED_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${RD_EMBEDDED_SOURCE} -DROOT=${CMAKE_SOURCE_DIR}
          "-DFILES=${rule_files};${fix_files};${table_files};${profile_files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${rule_files} ${fix_files} ${table_files} ${profile_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding rules, tables and profiles"
  VERBATIM)

# The table of actions, by name.
file(GLOB action_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fixes/actions/*.c)
list(SORT action_sources)
set(declarations "")
set(rows "")
foreach(file ${action_sources})
  get_filename_component(base ${file} NAME_WE)
  if(base MATCHES "^common")
    continue()
  endif()
  string(REPLACE "-" "_" symbol "rd_action_${base}")
  string(APPEND declarations "extern const struct rd_action ${symbol};\n")
  string(APPEND rows "\t&${symbol},\n")
endforeach()
set(RD_ACTION_TABLE_SOURCE ${RD_GENERATED}/action_table.c)
file(CONFIGURE OUTPUT ${RD_ACTION_TABLE_SOURCE} @ONLY CONTENT
"/* Written by cmake/generate.cmake from the files below fixes/actions/. */
#include \"rocm-doctor/action.h\"

@declarations@
const struct rd_action *const rd_actions[] = {
@rows@\tNULL,
};
const size_t rd_actions_n = sizeof(rd_actions) / sizeof(rd_actions[0]) - 1;
")
