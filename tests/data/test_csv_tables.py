"""Tables in CSV files: records, dtypes that are found, and files that are wrong."""

import csv
import gzip
import io
import random
import zlib

import numpy as np
import pytest

import gradtape as tf
from gradtape.data.csv_tables import records_of
from gradtape.io.csv_records import RecordParser

CsvDataset = tf.data.experimental.CsvDataset
make_csv_dataset = tf.data.experimental.make_csv_dataset

TABLE = 'size,weight,kind\n1,0.5,a\n2,,"b, c"\n3,2.5,\n'


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "täble.csv"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


def rows(dataset):
    return [
        tuple(value.item() if isinstance(value, np.generic) else value for value in row)
        for row in dataset.as_numpy_iterator()
    ]


def outcomes(dataset):
    """Elements, with the messages of errors in their places."""
    found, elements = [], iter(dataset)
    while True:
        try:
            found.append(tuple(value.numpy() for value in next(elements)))
        except StopIteration:
            return found
        except tf.errors.InvalidArgumentError as error:
            found.append(str(error))


def test_records(table):
    dataset = CsvDataset(table, [tf.int32, tf.constant([7.0], tf.float64), [""]], header=True)
    assert dataset.element_spec == (
        tf.TensorSpec([], tf.int32),
        tf.TensorSpec([], tf.float64),
        tf.TensorSpec([], tf.string),
    )
    assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert rows(dataset) == [(1, 0.5, b"a"), (2, 7.0, b"b, c"), (3, 2.5, b"")]
    assert rows(dataset) == rows(dataset)


@pytest.mark.parametrize("seed", range(12))
def test_what_pythons_csv_writes_is_read(tmp_path, seed):
    draw = random.Random(seed)
    delimiter, end = draw.choice([",", ";", "\t"]), draw.choice(["\n", "\r\n", "\r"])
    alphabet = 'ab é"\n\r' + delimiter
    width = draw.randint(1, 4)
    wanted = [
        tuple("".join(draw.choices(alphabet, k=draw.randint(0, 5))) for _ in range(width))
        for _ in range(draw.randint(0, 8))
    ]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
        wanted
    )
    path = tmp_path / "written.csv"
    for compression, packed in (
        (None, text.getvalue().encode()),
        ("GZIP", gzip.compress(text.getvalue().encode())),
        ("ZLIB", zlib.compress(text.getvalue().encode())),
    ):
        path.write_bytes(packed)
        dataset = CsvDataset(
            [str(path), str(path)], [[""]] * width, compression, field_delim=delimiter
        )
        assert rows(dataset) == [tuple(field.encode() for field in row) for row in wanted] * 2


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_records_do_not_depend_on_how_a_file_is_read(table, size, monkeypatch):
    path = table + ".crlf"
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(b'a,"x\r\ny"\r\nb,"""q"""\r\n\rc,')
    monkeypatch.setattr("gradtape.data.stages.files._CHUNK", size)
    found = outcomes(CsvDataset(path, [tf.string, [""]]))
    assert found[:2] == [(b"a", b"x\r\ny"), (b"b", b'"q"')]
    assert found[3] == (b"c", b"")
    assert "record 2 of" in found[2]
    assert "has 1 fields, but there are 2" in found[2]


def test_a_record_that_is_wrong_does_not_end_the_others(table):
    with open(table, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write('1,a\nx,b\n2\n3,c"d\n4,"e"f\n5,6,7\n,g\n\n8,h')
    found = outcomes(CsvDataset(table, [tf.int32, [""]]))
    assert [number for number in range(len(found)) if isinstance(found[number], tuple)] == [0, 8]
    assert all(f"record {number} of '{table}'" in found[number] for number in range(1, 8))
    assert "field 0" in found[1]
    assert "is no int32: b'x'" in found[1]
    assert "field 0" in found[6]
    assert "is empty, and has no default" in found[6]
    assert len(rows(CsvDataset(table, [tf.int32, [""]]).ignore_errors())) == 2


def test_a_quote_that_is_never_closed(table):
    with open(table, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write('4,1,"open\n5,1,a\n')
    found = outcomes(CsvDataset(table, [[0], [0.0], [""]], header=True))
    assert len(found) == 4
    assert "a quote is not closed" in found[-1]
    plain = CsvDataset(
        table, [[0], [0.0], [""]], header=True, use_quote_delim=False, select_cols=[0, 1, 2]
    )
    assert rows(plain)[-2:] == [(4, 1.0, b'"open'), (5, 1.0, b"a")]


def test_columns_that_are_chosen_or_left_out(table):
    chosen = CsvDataset(table, [[0.0], [""]], header=True, select_cols=[1, 2])
    others = CsvDataset(table, [[0.0], [""]], header=True, exclude_cols=[0])
    assert rows(chosen) == rows(others) == [(0.5, b"a"), (0.0, b"b, c"), (2.5, b"")]
    with pytest.raises(tf.errors.InvalidArgumentError, match="select_cols or exclude_cols, not"):
        CsvDataset(table, [[0]], select_cols=[0], exclude_cols=[1])
    with pytest.raises(ValueError, match="names 2 columns, but there are 1"):
        CsvDataset(table, [[0]], select_cols=[0, 1])


def test_files_that_cannot_be_read(table, tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"absent\.csv"):
        list(CsvDataset(str(tmp_path / "absent.csv"), [[0]]))
    (tmp_path / "empty.csv").write_text("")
    assert rows(CsvDataset(str(tmp_path / "empty.csv"), [[0]])) == []
    both = iter(
        CsvDataset([str(tmp_path / "empty.csv"), table], [[0]], header=True, select_cols=[0])
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no header: it is empty"):
        next(both)
    assert int(next(both)[0]) == 1
    with pytest.raises(tf.errors.DataLossError, match="complete file of compression GZIP"):
        list(CsvDataset(table, [[0]], "GZIP"))


# Tables


def test_a_table(table):
    dataset = make_csv_dataset(table, 2, label_name="kind", num_epochs=1, shuffle=False)
    features, labels = dataset.element_spec
    assert features == {
        "size": tf.TensorSpec([None], tf.int32),
        "weight": tf.TensorSpec([None], tf.float32),
    }
    assert labels == tf.TensorSpec([None], tf.string)
    (first, kinds), (last, none) = dataset.as_numpy_iterator()
    assert list(first) == ["size", "weight"]
    assert first["size"].tolist() == [1, 2]
    assert last["size"].tolist() == [3]
    assert first["weight"].tolist() == [0.5, 0.0]
    assert kinds.tolist() == [b"a", b"b, c"]
    assert none.tolist() == [b""]


def test_batches_without_end_are_full_and_shuffled(table):
    dataset = make_csv_dataset(table, 2, select_columns=["size"], shuffle_seed=1)
    assert dataset.element_spec == {"size": tf.TensorSpec([2], tf.int32)}
    seen = [int(n) for batch in dataset.take(30) for n in batch["size"]]
    assert len(seen) == 60
    assert all(sorted(seen[at : at + 3]) == [1, 2, 3] for at in range(0, 60, 3))
    assert len({tuple(seen[at : at + 3]) for at in range(0, 60, 3)}) > 1


@pytest.mark.parametrize(
    ("fields", "dtype"),
    [
        (["1", "-2"], tf.int32),
        (["1", "3000000000"], tf.int64),
        (["1", "0.5"], tf.float32),
        (["0.5", "1"], tf.float32),
        (["1", "1e39"], tf.float64),
        (["1e300", "1"], tf.float64),
        (["3000000000", "0.5"], tf.float32),
        (["1", "a"], tf.string),
        (["NA", "1"], tf.int32),
        (["NA", "NA"], tf.string),
        ([" 1", "nan"], tf.string),
        (["99999999999999999999", "1"], tf.float32),
    ],
)
def test_dtypes_are_found_in_the_first_rows(tmp_path, fields, dtype):
    path = tmp_path / "column.csv"
    path.write_text("a\n" + "\n".join(fields) + "\n")
    dataset = make_csv_dataset(str(path), 2, num_epochs=1, shuffle=False, na_value="NA")
    assert dataset.element_spec == {"a": tf.TensorSpec([None], dtype)}
    assert len(list(dataset)) == 1
    first = make_csv_dataset(str(path), 2, num_epochs=1, num_rows_for_inference=0)
    assert first.element_spec == {"a": tf.TensorSpec([None], tf.string)}


def test_several_files(table, tmp_path):
    (tmp_path / "b.csv").write_text(TABLE)
    both = make_csv_dataset(str(tmp_path / "*.csv"), 10, num_epochs=1)
    (batch,) = both.as_numpy_iterator()
    assert sorted(batch["size"].tolist()) == [1, 1, 2, 2, 3, 3]
    (tmp_path / "c.csv").write_text("other\n1\n")
    with pytest.raises(ValueError, match=r"the same header; '.*c\.csv' has \['other'\]"):
        make_csv_dataset(str(tmp_path / "*.csv"), 10)


def test_a_model_is_trained_with_a_table(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("x,y\n" + "".join(f"{n / 10},{n / 5 + 1}\n" for n in range(20)))
    dataset = make_csv_dataset(str(path), 5, label_name="y", num_epochs=1)
    w, b = tf.Variable(0.0), tf.Variable(0.0)
    for _ in range(150):
        for features, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((features["x"] * w + b - y) ** 2)
            dw, db = tape.gradient(loss, [w, b])
            w.assign_sub(0.2 * dw)
            b.assign_sub(0.2 * db)
    np.testing.assert_allclose([w.numpy(), b.numpy()], [2.0, 1.0], atol=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label_name": "colour"}, "label_name must be one of size, weight, kind; got 'colour'"),
        ({"select_columns": ["colour"]}, "select_columns has 'colour', but the 3 columns"),
        ({"select_columns": [3]}, "select_columns has 3, but"),
        ({"select_columns": [0, "size"]}, "stands there twice: size"),
        ({"column_names": ["a", "a", "b"]}, "a column name stands there twice: a"),
        ({"column_names": ["a", "b"]}, "row 0 of .* has 3 fields, but there are 2 columns"),
        ({"header": False}, "without a header, column_names must be given"),
        ({"column_defaults": [0], "select_columns": [0, 1]}, "1 column_defaults for 2"),
    ],
)
def test_arguments_that_do_not_fit_a_table(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_csv_dataset(table, 2, **arguments)


def test_no_files_match(tmp_path):
    with pytest.raises(ValueError, match="no files match"):
        make_csv_dataset(str(tmp_path / "*.csv"), 2)


@pytest.mark.parametrize("seed", range(20))
def test_records_taken_together_are_those_taken_one_by_one(tmp_path, seed):
    draw = random.Random(seed)
    fields = ["1", "2.5", "", "NA", " 7 ", "a", '"b,c"', "-3", "1_0", "0x1f", "nan", "99999999999"]
    width = draw.randint(1, 3)
    lines = [",".join(draw.choices(fields[: draw.choice([1, 4, 12])], k=width)) for _ in range(12)]
    if draw.random() < 0.5:
        lines[draw.randrange(12)] = draw.choice(["", "1,2,3,4", '"open'])
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    defaults = [
        draw.choice([tf.int32, tf.string, [0.5], [""], [-1], tf.float64]) for _ in range(width)
    ]
    parser = RecordParser("CsvDataset", defaults, ",", True, "NA")
    alone = []
    for number, line in enumerate(records_of(iter([path.read_bytes()]), parser.is_open)):
        try:
            values = parser.values(line, f"record {number}", blank=[b""])
            alone.append([c.tensor([v], ()) for c, v in zip(parser.columns, values, strict=True)])
        except tf.errors.InvalidArgumentError:
            alone.append(None)
    wanted = [str([leaf.numpy() for leaf in row]) for row in alone if row is not None]
    dataset = CsvDataset(str(path), defaults, na_value="NA").ignore_errors()
    assert [str([leaf.numpy() for leaf in row]) for row in dataset] == wanted
    if None in alone:
        return
    together = CsvDataset(str(path), defaults, na_value="NA").batch(draw.choice([1, 5, 50]))
    found = [str(list(row)) for row in together.unbatch().as_numpy_iterator()]
    assert found == [str(list(row)) for row in dataset.as_numpy_iterator()]
    assert found == [
        str(list(row)) for row in CsvDataset(str(path), defaults, na_value="NA").as_numpy_iterator()
    ]


def test_a_batch_with_a_wrong_record_is_an_error_and_the_next_goes_on(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1\n2\nx\n4\n5\n")
    elements = iter(CsvDataset(str(path), [tf.int32]).batch(2))
    assert next(elements)[0].numpy().tolist() == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="field 0 of record 2 of"):
        next(elements)
    assert [element[0].numpy().tolist() for element in elements] == [[4, 5]]
