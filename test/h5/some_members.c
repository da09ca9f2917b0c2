// Writing elements with text, sequences and references by types that lack some of their members: these stay.
#include <stddef.h>
#include <string.h>

#include "check.h"

enum { kElems = 5, kMany = 2 };

typedef struct {
  char* text;
  int number;
} Inner;

typedef struct {
  double x;
  char* name;
  hvl_t sequence;
  hobj_ref_t to;
  Inner inner;
  Inner many[kMany];
  hvl_t inners;
} Element;

static hid_t Text(void) {
  const hid_t text = H5Tcopy(H5T_C_S1);
  CHECK(H5Tset_size(text, H5T_VARIABLE) >= 0 && H5Tset_cset(text, H5T_CSET_UTF8) >= 0);
  return text;
}

// A compound of one member behind the other.
static hid_t Compound(size_t bytes, int count, const char* const* names, const size_t* offsets, const hid_t* members) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
  for (int i = 0; i < count; ++i) CHECK(H5Tinsert(type, names[i], offsets[i], members[i]) >= 0);
  return type;
}

static hid_t ElementType(void) {
  const hsize_t many = kMany;
  const char* const inner_names[] = {"text", "number"};
  const size_t inner_offsets[] = {offsetof(Inner, text), offsetof(Inner, number)};
  const hid_t inner_members[] = {Text(), H5T_NATIVE_INT};
  const hid_t inner = Compound(sizeof(Inner), 2, inner_names, inner_offsets, inner_members);
  const char* const names[] = {"x", "name", "sequence", "to", "inner", "many", "inners"};
  const size_t offsets[] = {offsetof(Element, x),     offsetof(Element, name),  offsetof(Element, sequence),
                            offsetof(Element, to),    offsetof(Element, inner), offsetof(Element, many),
                            offsetof(Element, inners)};
  const hid_t members[] = {H5T_NATIVE_DOUBLE,    Text(), H5Tvlen_create(H5T_NATIVE_INT),
                           H5T_STD_REF_OBJ,      inner,  H5Tarray_create2(inner, 1, &many),
                           H5Tvlen_create(inner)};
  return Compound(sizeof(Element), 7, names, offsets, members);
}

static hid_t Selected(hid_t dataset, hsize_t start, hsize_t count) {
  const hid_t space = H5Dget_space(dataset);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0);
  return space;
}

static void Write(hid_t dataset, hid_t type, hsize_t start, hsize_t count, const void* values) {
  const hid_t memory = H5Screate_simple(1, &count, NULL);
  CHECK(H5Dwrite(dataset, type, memory, Selected(dataset, start, count), H5P_DEFAULT, values) >= 0);
}

static void WriteAll(hid_t dataset, hid_t type, const hobj_ref_t* target) {
  static char texts[kElems][4][8];
  static int numbers[kElems] = {0, 1, 2, 3, 4};
  static Inner inners[2] = {{"first", 1}, {"second", 2}};
  Element all[kElems];
  for (int i = 0; i < kElems; ++i) {
    for (int k = 0; k < 4; ++k) snprintf(texts[i][k], sizeof texts[i][k], "%d %d", i, k);
    const Element element = {i + 0.5,    texts[i][0],           {(size_t)i, numbers},
                             *target,    {texts[i][1], 10 * i}, {{texts[i][2], 20 * i}, {texts[i][3], 30 * i}},
                             {2, inners}};
    all[i] = element;
  }
  Write(dataset, type, 0, kElems, all);
}

// Texts and a number of another type, in another order, beside a member that the file does not have.
static void WriteNames(hid_t dataset, hsize_t start) {
  struct {
    char* name;
    int unknown;
    float x;
  } values[2] = {{"new", 7, -1}, {"newer", 7, -2}};
  const char* const names[] = {"name", "unknown", "x"};
  const size_t offsets[] = {0, sizeof(char*), sizeof(char*) + sizeof(int)};
  const hid_t members[] = {Text(), H5T_NATIVE_INT, H5T_NATIVE_FLOAT};
  Write(dataset, Compound(sizeof values[0], 3, names, offsets, members), start, 2, values);
}

// Numbers of compounds within, and of those in an array and in a sequence that grows; and a sequence.
typedef struct {
  short inner, many[kMany];
  hvl_t sequence, inners;
} Within;

static void WriteWithin(hid_t dataset, hsize_t start) {
  const Within value = {-5, {-6, -7}, {2, (int[]){8, 9}}, {3, (short[]){11, 12, 13}}};
  const hsize_t many = kMany;
  const char* const number = "number";
  const size_t zero = 0;
  const hid_t short_type = H5T_NATIVE_SHORT;
  const hid_t within = Compound(sizeof(short), 1, &number, &zero, &short_type);
  const char* const names[] = {"inner", "many", "sequence", "inners"};
  const size_t offsets[] = {offsetof(Within, inner), offsetof(Within, many), offsetof(Within, sequence),
                            offsetof(Within, inners)};
  const hid_t members[] = {within, H5Tarray_create2(within, 1, &many), H5Tvlen_create(H5T_NATIVE_INT),
                           H5Tvlen_create(within)};
  Write(dataset, Compound(sizeof value, 4, names, offsets, members), start, 1, &value);
}

static int IsText(const char* text, const char* expected) { return strcmp(text == NULL ? "" : text, expected) == 0; }

static void CheckInners(const hvl_t* inners, int within) {
  const Inner* const items = inners->p;
  CHECK(inners->len == (within ? 3 : 2) && IsText(items[0].text, "first") && IsText(items[1].text, "second"));
  CHECK(items[0].number == (within ? 11 : 1) && items[1].number == (within ? 12 : 2));
  if (within) CHECK(items[2].number == 13 && IsText(items[2].text, ""));
}

static void CheckWritten(hid_t dataset, hid_t type) {
  Element read[kElems];
  CHECK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  for (int i = 0; i < kElems; ++i) {
    const int named = i == 1 || i == 2, within = i == 2;
    char texts[4][8];
    for (int k = 0; k < 4; ++k) snprintf(texts[k], sizeof texts[k], "%d %d", i, k);
    CHECK(read[i].x == (named ? -i : i + 0.5) && read[i].to != 0);
    CHECK(IsText(read[i].name, i == 1 ? "new" : i == 2 ? "newer" : texts[0]));
    CHECK(IsText(read[i].inner.text, texts[1]) && read[i].inner.number == (within ? -5 : 10 * i));
    for (int k = 0; k < kMany; ++k) {
      CHECK(IsText(read[i].many[k].text, texts[2 + k]));
      CHECK(read[i].many[k].number == (within ? -6 - k : 10 * (2 + k) * i));
    }
    CheckInners(&read[i].inners, within);
    CHECK(read[i].sequence.len == (size_t)(within ? 2 : i));
    const int* const items = read[i].sequence.p;
    for (int k = 0; k < (int)read[i].sequence.len; ++k) CHECK(items[k] == (within ? 8 + k : k));
  }
}

// Of a dataset that nothing was written to before.
static void CheckNames(hid_t dataset, hid_t type) {
  Element read[kElems];
  CHECK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  for (int i = 0; i < kElems; ++i) {
    CHECK(read[i].x == (i == 3 ? -1 : i == 4 ? -2 : 0) && read[i].to == 0);
    CHECK(IsText(read[i].name, i == 3 ? "new" : i == 4 ? "newer" : "") && IsText(read[i].inner.text, ""));
    CHECK(read[i].sequence.len == 0 && read[i].many[1].number == 0 && IsText(read[i].many[0].text, ""));
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const hsize_t extent = kElems, chunk = 2;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 1, &chunk) >= 0);
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t type = ElementType();
  hid_t written = H5Dcreate2(file, "written", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  hid_t never = H5Dcreate2(file, "never", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  hobj_ref_t target;
  CHECK(written >= 0 && never >= 0 && H5Rcreate(&target, file, "never", H5R_OBJECT, -1) >= 0);
  WriteAll(written, type, &target);
  for (int opened = 0; opened < 2; ++opened) {  // what is not stored yet, and what is
    WriteNames(written, 1);
    WriteWithin(written, 2);
    WriteNames(never, 3);
    CheckWritten(written, type);
    CheckNames(never, type);
    CHECK(H5Dclose(written) >= 0 && H5Dclose(never) >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
    written = H5Dopen2(file, "written", H5P_DEFAULT);
    never = H5Dopen2(file, "never", H5P_DEFAULT);
    CHECK(written >= 0 && never >= 0);
    CheckWritten(written, type);
  }
  CHECK(H5Dclose(written) >= 0 && H5Dclose(never) >= 0 && H5Fclose(file) >= 0);
  puts("ok");
  return 0;
}
