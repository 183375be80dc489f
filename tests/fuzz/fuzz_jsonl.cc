// A file of JSON lines: the import takes a line or refuses it with a reason.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/import_bytes.h"

FUZZ_TARGET(jsonl) { sortition::ImportBytes("jsonl", data, size); }
