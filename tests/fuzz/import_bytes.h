#pragma once
// Bytes as a file that is imported.
#include <cstddef>
#include <cstdint>
#include <string>

namespace sortition {

// Imports the bytes in `format`, with options that the first byte chooses.
// Aborts unless every tuple that is taken can be learned from and comes back
// from JSON lines as it was.
void ImportBytes(const std::string& format, const uint8_t* data, size_t size);

}  // namespace sortition
