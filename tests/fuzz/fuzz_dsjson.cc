// A dsjson file: the import takes a line or refuses it with a reason.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/import_bytes.h"

FUZZ_TARGET(dsjson) { sortition::ImportBytes("dsjson", data, size); }
