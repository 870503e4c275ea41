#pragma once
/*
 * Wire kinds: what the writing and the reading half of the wire share.
 */
#include <stddef.h>

#include "report/fields.h"

/* The record that a member belongs to, for kinds that span several members. */
#define WIRE_OWNER(member, type, name) ((type *)((const char *)(member)-offsetof(type, name)))

/* The D-Bus type of a kind's value. */
const char *wire_signature(enum field_kind kind);
