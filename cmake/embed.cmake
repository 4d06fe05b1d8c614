# cmake -DOUTPUT=FILE -DROOT=DIR -DFILES=LIST -P embed.cmake: JSON files as byte arrays, each with the name that an
# overriding file would have below rules/, fixes/, tables/ or profiles/.

set(arrays "")
set(rows "")
set(index 0)
foreach(file ${FILES})
  file(RELATIVE_PATH path ${ROOT} ${file})
  if(path MATCHES "^probes/([^/]+)/rules.json$")
    set(name "rules/${CMAKE_MATCH_1}.json")
  elseif(path MATCHES "^fixes/([^/]+)$")
    set(name "fixes/${CMAKE_MATCH_1}")
  elseif(path MATCHES "^src/knowledge/(tables|profiles)/([^/]+)$")
    set(name "${CMAKE_MATCH_1}/${CMAKE_MATCH_2}")
  else()
    message(FATAL_ERROR "do not know where '${path}' belongs")
  endif()
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  # Without its indentation, which nobody reads there. A line of the file is a line of the array.
  string(REGEX REPLACE "0x0a,((0x20|0x09),)+" "0x0a," bytes "${bytes}")
  string(REPLACE "0x0a," "0x0a,\n\t" bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${index}[] = {\n\t${bytes}0x00\n};\n")
  string(APPEND rows "\t{ \"${name}\", (const char *)file_${index}, sizeof(file_${index}) - 1 },\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* Written by cmake/embed.cmake. */
#include <stddef.h>

#include \"rocm-doctor/embedded.h\"

${arrays}
const struct rd_embedded rd_embedded_files[] = {
${rows}\t{ NULL, NULL, 0 },
};
")
