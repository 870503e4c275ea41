#pragma once
/*
 * JSON: reports for programs. Numbers are as in the struct (units are in the names), a share that
 * is not known is null, reasons and errnos are objects of counts, nodes is [{"node":0,"bytes":1},
 * ...].
 */
#include <stdio.h>

#include "numabd/report.h"
#include "report/doctor.h"

/* A JSON string of untrusted bytes: quoted, escaped, valid UTF-8. */
void json_print_string(FILE *file, const char *text);

/* One object, without a newline. */
void json_print_status(FILE *file, const struct status_report *report);
/* One object: the process. */
void json_print_process(FILE *file, const struct process_report *report);
/* An array of objects, without a newline. */
void json_print_vmas(FILE *file, const struct vma_reports *reports);
void json_print_processes(FILE *file, const struct process_reports *reports);
void json_print_checks(FILE *file, const struct doctor_report *report);
