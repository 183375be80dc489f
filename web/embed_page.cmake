# Writes OUTPUT, which defines PageFiles(), from the FILES ("a.js b.css") of FOLDER.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

separate_arguments(FILES)
set(arrays)
set(rows)
set(index 0)
foreach(name IN LISTS FILES)
  string(REGEX REPLACE "^.*\\." "" extension ${name})
  if(NOT DEFINED type_${extension})
    message(FATAL_ERROR "${name}: there is no content type for .${extension}")
  endif()
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  # 16 bytes a line: compilers are slow with lines of megabytes.
  string(REGEX REPLACE "(('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',)('[^']*',))"
    "\\1\n" bytes "${bytes}")
  string(APPEND arrays "constexpr char kFile${index}[] = {\n${bytes}};\n")
  if(name STREQUAL index.html)
    set(path "/")
  else()
    set(path "/${name}")
  endif()
  string(APPEND rows
    "    {\"${path}\", \"${type_${extension}}\", {kFile${index}, sizeof(kFile${index})}},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUTPUT} "#include \"web/page_files.h\"

namespace sortition {
namespace {

${arrays}
constexpr PageFile kFiles[] = {
${rows}};

}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }

}  // namespace sortition
")
