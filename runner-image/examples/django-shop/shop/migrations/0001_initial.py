"""The tables, and something to sell."""

from typing import Any

from django.db import migrations, models


def stock(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 -- Django gives both
    """Ten pens."""
    apps.get_model("shop", "Article").objects.create(name="pen", left=10)


class Migration(migrations.Migration):
    """As `makemigrations` writes it; the last line was added."""

    initial = True
    operations = (
        migrations.CreateModel(
            name="Article",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=50, unique=True)),
                ("left", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("count", models.PositiveIntegerField()),
                ("shipped_by", models.BigIntegerField(null=True)),
                ("article", models.ForeignKey(on_delete=models.deletion.PROTECT, to="shop.article")),
            ],
        ),
        migrations.RunPython(stock, migrations.RunPython.noop),
    )
