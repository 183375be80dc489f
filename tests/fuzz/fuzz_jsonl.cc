// A file of JSON lines: the import takes a line or refuses it with a reason.
#include "tests/fuzz/import_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sortition::ImportBytes("jsonl", data, size);
  return 0;
}
