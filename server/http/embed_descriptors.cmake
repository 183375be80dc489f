# Writes OUTPUT, which defines ApiDescriptors(), from the bytes of INPUT.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
# 16 bytes a line: compilers are slow with lines of megabytes.
string(REPEAT "'[^']*'," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"server/http/api_descriptors.h\"

namespace sortition {
namespace {

constexpr char kBytes[] = {
${bytes}};

}  // namespace

std::string ApiDescriptors() { return {kBytes, sizeof(kBytes)}; }

}  // namespace sortition
")
