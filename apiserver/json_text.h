// Text as JSON, written as the Kubernetes API servers write it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loadline::apiserver {

// Bytes of the well-formed UTF-8 sequence that starts at text[at], 0 when there is none.
std::size_t utf8_sequence_length(std::string_view text, std::size_t at);

bool is_utf8(std::string_view text);

// Appends text in quotes. <, >, &, U+2028 and U+2029 are escaped as Go's encoder does, so that
// bodies compare byte for byte; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// Compact JSON with line breaks and two blanks a level, for people. REQUIRES: well-formed JSON
// without blanks between tokens.
std::string indent_json(std::string_view compact);

}  // namespace loadline::apiserver
