# One interface target that every target of ours links: warnings, hardening, sanitizers.
add_library(loadline_flags INTERFACE)
add_library(loadline::flags ALIAS loadline_flags)

target_compile_options(loadline_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Wno-missing-field-initializers
  # g++ 12 takes the frames of Asio's coroutines for mismatched new and delete; AddressSanitizer sees none.
  $<$<CXX_COMPILER_ID:GNU>:-Wsuggest-override -Wno-mismatched-new-delete>
  $<$<BOOL:${LOADLINE_WERROR}>:-Werror>)
target_include_directories(loadline_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
# Boost.Asio without its deprecated executors and with nothing linked but the threads.
target_compile_definitions(loadline_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE _GLIBCXX_ASSERTIONS)

if(LOADLINE_SANITIZE)
  target_compile_options(loadline_flags INTERFACE
    -fsanitize=${LOADLINE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(loadline_flags INTERFACE -fsanitize=${LOADLINE_SANITIZE})
else()
  target_compile_options(loadline_flags INTERFACE -fstack-protector-strong
    $<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
  target_link_options(loadline_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
