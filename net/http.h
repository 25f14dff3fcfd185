// HTTP/1.1 messages as plain values, shared by our client and our server. No Beast type leaves
// net/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::net {

// In the order of the wire; names keep their spelling and compare without case.
using Headers = std::vector<std::pair<std::string, std::string>>;

// The first value of the header, nullptr when there is none.
const std::string* find_header(const Headers& headers, std::string_view name);

// ASCII case-insensitive equality, as header names compare.
bool header_name_equals(std::string_view a, std::string_view b);

}  // namespace loadline::net
