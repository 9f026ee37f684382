# find_package(coua CONFIG): coua::static, and coua::coua, which is the shared library if that is installed.
get_filename_component(coua_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET coua::coua)
  add_library(coua::static STATIC IMPORTED)
  set_target_properties(coua::static PROPERTIES
    IMPORTED_LOCATION "${coua_prefix}/lib/libcoua.a"
    INTERFACE_INCLUDE_DIRECTORIES "${coua_prefix}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
  if(EXISTS "${coua_prefix}/lib/libcoua.so")
    add_library(coua::coua SHARED IMPORTED)
    set_target_properties(coua::coua PROPERTIES
      IMPORTED_LOCATION "${coua_prefix}/lib/libcoua.so"
      IMPORTED_SONAME libcoua.so.0
      INTERFACE_INCLUDE_DIRECTORIES "${coua_prefix}/include")
  else()
    add_library(coua::coua ALIAS coua::static)
  endif()
endif()
